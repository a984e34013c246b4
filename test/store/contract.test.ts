/** The stores that need nothing but this machine, held to the contract. */
import { FileStore } from "../../src/store/file.js";
import { MemoryStore } from "../support/memory-store.js";
import { scratchFolder } from "../support/scratch.js";
import { sharedStoreContract, storeContract } from "../support/store-contract.js";

storeContract("file", (now) => new FileStore(scratchFolder(), now));
storeContract("memory", (now) => new MemoryStore(now));
sharedStoreContract("memory", () => new MemoryStore());
