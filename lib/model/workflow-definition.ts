/** A workflow definition as a store keeps it: which shape the instances of a version were started on. */
export interface WorkflowDefinitionRecord {
  readonly id: string;
  readonly version: number;
  /** Tells whether a stored cursor fits the graph. */
  readonly shapeHash: string;
  /** The exported graph: JSON text, which storage does not look into. */
  readonly graph: string;
  /** When this shape was registered. */
  readonly registeredAt: Date;
}

/** What became of a registration. */
export type DefinitionRegistration =
  | { readonly outcome: 'registered' | 'unchanged' | 'replaced' }
  /** Live instances stand in another shape of this version. Nothing was written. */
  | { readonly outcome: 'refused'; readonly storedShapeHash: string; readonly liveInstances: number };
