// What drivers give, as records hold it: 64-bit numbers come as numbers or as text, flags as numbers.
export const number = (value: unknown): number => Number(value);
export const text = (value: unknown): string => value as string;
export const optionalText = (value: unknown): string | null => (value ?? null) as string | null;
export const flag = (value: unknown): boolean => Number(value) !== 0;
export const instant = (value: unknown): Date => new Date(Number(value));
export const optionalInstant = (value: unknown): Date | null => (value == null ? null : new Date(Number(value)));
export const optionalNumber = (value: unknown): number | null => (value == null ? null : Number(value));

/** Epoch milliseconds, as every instant is stored. */
export const epoch = (date: Date): number => date.getTime();
export const optionalEpoch = (date: Date | null): number | null => date && date.getTime();
