/** The forms there are, in the order in which a document is asked what it is. A new one is a file and a line here. */
import type { Form } from "./form.js";
import { BMAD } from "./formats/bmad.js";
import { CHECKLIST, PHASES, TASKS } from "./formats/headed.js";
import { KIRO } from "./formats/kiro.js";
import { MASTER } from "./formats/master.js";
import { OPENSPEC } from "./formats/openspec.js";
import { PHASE_FILE } from "./formats/phase-file.js";
import { SPEC_KIT } from "./formats/spec-kit.js";
import { TAGGED } from "./formats/tagged.js";
import { TASK_MASTER } from "./formats/task-master.js";
import type { FormatName } from "./model.js";

export const FORMS: readonly Form[] = [
  TASK_MASTER,
  BMAD,
  TAGGED,
  MASTER,
  PHASE_FILE,
  KIRO,
  SPEC_KIT,
  OPENSPEC,
  PHASES,
  TASKS,
  CHECKLIST,
];

export function formOf(name: FormatName): Form {
  const found = FORMS.find((form) => form.name === name);
  if (found === undefined) throw new Error(`there is no form ${name}`);
  return found;
}
