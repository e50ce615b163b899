/** Texts that all processes of a store share, and that nobody else may guess. */

export interface SecretVerbs {
  /** The text that is kept for good under a name: `proposed`, if there was none. Who asks at the same time gets the same. */
  secret(name: string, proposed: string): Promise<string>
}
