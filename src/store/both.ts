/** Two stores as one: this machine's runs and the team's. Whoever has a run is asked about it; what is new is begun on this machine. */
import type { Learned } from "../context/forecast.js";
import type { BlobRef, RunEvent } from "../run/event.js";
import type { Redact } from "../secrets/redact.js";
import type { Address, Holder, Joined, Journal, JournalRead, Lease, Locked, Store, Watching } from "./store.js";

export class BothStores implements Store {
  readonly #here: Store;
  readonly #team: Store;
  /** Those that turned out to be the team's. */
  readonly #theirs = new Set<string>();

  constructor(here: Store, team: Store) {
    this.#here = here;
    this.#team = team;
  }

  /** Names begin with the time. */
  async list(): Promise<string[]> {
    const [here, team] = await Promise.all([this.#here.list(), this.#team.list()]);
    return [...here, ...team].sort().reverse();
  }

  async #of(run: string): Promise<Store> {
    if (!this.#theirs.has(run) && (await this.#here.list()).includes(run)) return this.#here;
    this.#theirs.add(run);
    return this.#team;
  }

  async read(run: string): Promise<JournalRead> {
    return (await this.#of(run)).read(run);
  }

  async watch(run: string, take: (events: RunEvent[]) => void): Promise<Watching> {
    return (await this.#of(run)).watch(run, take);
  }

  async version(run: string): Promise<string> {
    return (await this.#of(run)).version(run);
  }

  async getBlob(run: string, ref: BlobRef): Promise<string | undefined> {
    return (await this.#of(run)).getBlob(run, ref);
  }

  async lock(run: string): Promise<Locked> {
    return (await this.#of(run)).lock(run);
  }

  async holder(run: string): Promise<Holder | undefined> {
    return (await this.#of(run)).holder(run);
  }

  async waitsForAnyone(run: string): Promise<boolean> {
    return (await this.#of(run)).waitsForAnyone(run);
  }

  checkoutHolder(): Promise<Holder | undefined> {
    return this.#here.checkoutHolder();
  }

  create(run: string, lease: Lease): Promise<Journal> {
    return this.#here.create(run, lease);
  }

  async open(run: string, lease: Lease, after: Extract<JournalRead, { ok: true }>): Promise<Journal> {
    return (await this.#of(run)).open(run, lease, after);
  }

  async steer(run: string, redact: Redact): Promise<Joined | undefined> {
    return (await this.#of(run)).steer(run, redact);
  }

  async remove(run: string): Promise<void> {
    return (await this.#of(run)).remove(run);
  }

  async setAddress(run: string, address: Address | undefined): Promise<void> {
    return (await this.#of(run)).setAddress(run, address);
  }

  async address(run: string): Promise<Address | undefined> {
    return (await this.#of(run)).address(run);
  }

  learned(agent: string): Promise<Learned> {
    return this.#here.learned(agent);
  }

  learn(agent: string, more: Learned): Promise<void> {
    return this.#here.learn(agent, more);
  }

  async leaveNote(run: string, name: string, text: string): Promise<void> {
    return (await this.#of(run)).leaveNote(run, name, text);
  }

  async note(run: string, name: string): Promise<{ text: string; at: string } | undefined> {
    return (await this.#of(run)).note(run, name);
  }

  where(run: string): string {
    return (this.#theirs.has(run) ? this.#team : this.#here).where(run);
  }
}
