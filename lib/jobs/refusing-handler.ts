/** Hears of everything that is done to a stand-in and is none of the stand-in's business. */
export interface Misuse {
  refuse(what: string): never;
}

/** Proxy traps that refuse everything one can do to an object; what is allowed overrides its trap. */
export class RefusingHandler implements ProxyHandler<object> {
  constructor(
    protected readonly misuse: Misuse,
    private readonly subject: string,
  ) {}

  get(_: object, property: string | symbol): unknown {
    return this.refuse(`"${String(property)}" was read`);
  }

  set(_: object, property: string | symbol): never {
    return this.refuse(`"${String(property)}" was assigned`);
  }

  has(_: object, property: string | symbol): never {
    return this.refuse(`was asked for "${String(property)}"`);
  }

  deleteProperty(_: object, property: string | symbol): never {
    return this.refuse(`"${String(property)}" was deleted`);
  }

  defineProperty(_: object, property: string | symbol): never {
    return this.refuse(`"${String(property)}" was defined`);
  }

  getOwnPropertyDescriptor(): never {
    return this.refuse('was inspected');
  }

  ownKeys(): never {
    return this.refuse('was inspected');
  }

  getPrototypeOf(): never {
    return this.refuse('was asked for its class');
  }

  setPrototypeOf(): never {
    return this.refuse('was given another class');
  }

  isExtensible(): never {
    return this.refuse('was inspected');
  }

  preventExtensions(): never {
    return this.refuse('was frozen');
  }

  construct(): never {
    return this.refuse('was constructed with new');
  }

  protected refuse(what: string): never {
    return this.misuse.refuse(`${this.subject} ${what}`);
  }
}
