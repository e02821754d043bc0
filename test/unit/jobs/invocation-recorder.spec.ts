/* oxlint-disable typescript/unbound-method, typescript/await-thenable, typescript/no-meaningless-void-operator,
   typescript/no-misused-spread, typescript/no-base-to-string, typescript/no-unnecessary-template-expression,
   unicorn/no-unnecessary-await -- misuse is what is tested */
import { recordCall } from '../../../lib/jobs/invocation-recorder';
import { InvalidCallError } from '../../../lib/jobs/job.errors';

class Mailer {
  static created = 0;
  readonly address = 'a@b.c';

  constructor() {
    Mailer.created++;
  }

  get server(): string {
    throw new Error('the getter ran');
  }

  async send(_to: string, _options?: object): Promise<void> {
    throw new Error('the method ran');
  }

  format(text: string): string {
    return text;
  }
}

abstract class Notifier {
  abstract notify(id: number): Promise<void>;
}

const other = new (class {
  send(_to: string): string {
    return 'sent';
  }
})();

function problem(call: (mailer: Mailer) => unknown): string {
  try {
    recordCall(Mailer, call);
  } catch (error) {
    if (error instanceof InvalidCallError) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('The recorder', () => {
  it('captures one method call and its arguments', () => {
    const options = { cc: 'x' };

    expect(recordCall(Mailer, (mailer) => mailer.send('a', options))).toEqual({ method: 'send', args: ['a', options] });
    expect(recordCall(Mailer, (mailer) => void mailer.format('a'))).toEqual({ method: 'format', args: ['a'] });
  });

  it('captures a method of an abstract class, which leaves no trace at run time', () => {
    expect(recordCall(Notifier, (notifier) => notifier.notify(5))).toEqual({ method: 'notify', args: [5] });
  });

  it('runs nothing of the target', () => {
    Mailer.created = 0;

    recordCall(Mailer, (mailer) => mailer.send('a'));
    problem((mailer) => mailer.server);

    expect(Mailer.created).toBe(0);
  });

  it('evaluates arguments at once', () => {
    let id = 1;

    const { args } = recordCall(Notifier, (notifier) => notifier.notify(id));
    id = 2;

    expect(args).toEqual([1]);
  });

  it.each<[string, (mailer: Mailer) => unknown, RegExp]>([
    ['no call', () => undefined, /no method of the service was called/],
    ['a call of something else', () => other.send('a'), /no method of the service was called/],
    ['a value instead', () => 'send', /no method of the service was called/],
    ['the service itself', (mailer) => mailer, /the service itself was returned/],
    ['a call that comes later', (mailer) => void setImmediate(() => void ignored(() => mailer.send('a'))), /no method/],
    ['two calls', (mailer) => [mailer.send('a'), mailer.send('b')], /"send" was used after "send" had been called/],
    ['two calls of one reference', (mailer) => twice(mailer), /"send" was (read and not called|called again)/],
    ['a property', (mailer) => mailer.address, /"address" was read and not called/],
    ['a method that is not called', (mailer) => mailer.send, /"send" was read and not called/],
    ['a getter', (mailer) => mailer.server, /"server" is a getter or setter/],
    ['a nested property', (mailer) => mailer.format.name, /"format\.name" was read/],
    ['a method through call', (mailer) => mailer.send.call(mailer, 'a'), /"send\.call" was read/],
    ['a bound method', (mailer) => mailer.send.bind(mailer)('a'), /"send\.bind" was read/],
    ['a method taken apart', ({ send }) => send('a'), /"send" was taken from the service/],
    [
      'a use of the result',
      (mailer) => mailer.format('a').length,
      /the result of "format" was used: "length" was read/,
    ],
    ['a comparison of the result', (mailer) => `${mailer.format('a')}`, /the result of "format" was used/],
    ['a then on the result', (mailer) => mailer.send('a').then(() => 1), /the result of "send" was awaited/],
    ['an async function', async (mailer) => mailer.send('a'), /the result of "send" was awaited/],
    ['an await', async (mailer) => void (await mailer.send('a')), /the result of "send" was awaited/],
    ['an async function without await', async (mailer) => void mailer.format('a'), /an async function was passed/],
    ['an await of the service', async (mailer) => void (await (mailer as unknown)), /the service itself was awaited/],
    [
      'a call after an await',
      async (mailer) => {
        await null;
        await mailer.send('a');
      },
      /an async function was passed/,
    ],
    ['an assignment', (mailer) => Object.assign(mailer, { address: 'x' }), /the service "address" was assigned/],
    ['a deletion', (mailer) => Reflect.deleteProperty(mailer, 'address'), /the service "address" was deleted/],
    ['a definition', (mailer) => Object.defineProperty(mailer, 'a', { value: 1 }), /the service "a" was defined/],
    ['the in operator', (mailer) => 'send' in mailer, /the service was asked for "send"/],
    ['instanceof', (mailer) => mailer instanceof Mailer, /the service was asked for its class/],
    ['a listing', (mailer) => Object.keys(mailer), /the service was inspected/],
    ['a spread', (mailer) => ({ ...mailer }), /the service was inspected/],
    ['JSON', (mailer) => JSON.stringify(mailer), /"toJSON"/],
    ['a template literal', (mailer) => `${String(mailer)}`, /Symbol\(Symbol\.toPrimitive\) was read/],
    ['an iteration', (mailer) => [...(mailer as unknown as [])], /Symbol\(Symbol\.iterator\) was read/],
    ['its constructor', (mailer) => mailer.constructor, /"constructor" is a value/],
    [
      'an instance of its class',
      (mailer) => new (mailer as unknown as { send: new () => unknown }).send(),
      /"send" was constructed with new/,
    ],
    [
      'an argument that is the service',
      (mailer) => mailer.send(mailer as unknown as string),
      /argument 1 of "send" is the service itself/,
    ],
    ['an argument that reads the service', (mailer) => mailer.send(mailer.address), /"send" was read and not called/],
    ['something returned beside the call', (mailer) => mailer.format('a') && 5, /5 was returned instead of the call/],
    ['an error that the callback replaces', (mailer) => replaced(() => mailer.server), /"server" is a getter/],
    ['an error that the callback swallows', (mailer) => ignored(() => mailer.server), /"server" is a getter/],
  ])('refuses %s, says so and shows the right form', (_, call, message) => {
    const text = problem(call);

    expect(text).toMatch(message);
    expect(text).toMatch(/^Mailer: .* Write \(s\) => s\.method\(…\), with one direct call/);
  });

  it('passes on an error of the callback itself', () => {
    const order = undefined as unknown as { id: string };

    expect(() => recordCall(Mailer, (mailer) => mailer.send(order.id))).toThrow(TypeError);
  });

  it('answers nothing once the call has been recorded', () => {
    let kept: Mailer | undefined;
    recordCall(Mailer, (mailer) => {
      kept = mailer;
      return mailer.send('a');
    });

    expect(() => kept?.address).toThrow(/after the call had been recorded/);
  });

  it.each([
    [undefined, (mailer: Mailer) => mailer, /target must be the class whose method runs, .* got undefined/],
    ['Mailer', (mailer: Mailer) => mailer, /got "Mailer"/],
    [new Mailer(), (mailer: Mailer) => mailer, /got an object/],
    [Mailer, undefined, /Mailer: the call must be a function, got undefined/],
    [Mailer, 'send', /got "send"/],
  ])('refuses the target %p with the call %p', (target, call, message) => {
    expect(() => recordCall(target as typeof Mailer, call as (mailer: Mailer) => unknown)).toThrow(InvalidCallError);
    expect(() => recordCall(target as typeof Mailer, call as (mailer: Mailer) => unknown)).toThrow(message);
  });
});

function twice(mailer: Mailer): unknown {
  const service = mailer as unknown as Record<string, (...args: unknown[]) => unknown>;
  const send = service['send'];
  const call = { send };
  Reflect.apply(send!, mailer, ['a']);
  return Reflect.apply(call.send!, mailer, ['b']);
}

function replaced(work: () => unknown): unknown {
  try {
    return work();
  } catch {
    throw new Error('of the callback');
  }
}

function ignored(work: () => unknown): void {
  try {
    work();
  } catch {
    // what a careless callback does
  }
}
