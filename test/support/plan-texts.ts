/** Plans in each form, with every construct the forms have. */
const fence = "```";

export const PLANS = {
  phaseFile: `# Phase 6: Context watching

**Status:** Pending
**Master Plan:** [MASTER.md](MASTER.md)
**Depends On:** None (can run independently)

## CRITICAL: Read These First

1. **Future**: \`docs/FUTURE.md\` - why
2. **Runner**: \`src/run.ts\` - how

## Process Wrapper (MANDATORY)
- [ ] Read previous notes: \`notes/NOTES_5.md\`
- [ ] Pre-validation:
  ${fence}bash
  # not a gate
  npm run validate
  ${fence}
- [ ] Write \`notes/NOTES_6.md\` with:
  - a summary
- [ ] Signal completion: \`debussy done --phase 6\`

## Gates (must pass before completion)

**ALL gates are BLOCKING.**

- lint: 0 errors (command: \`npm run lint\`)
- tests: ALL pass (command: \`npm test\`)

## Tasks

### Sub-Phase 6A: Estimation

#### 6A.1: The module

- [ ] Create \`src/estimate.ts\`:

${fence}ts
// - [ ] not a task
${fence}

#### 6A.2: The rest

- [ ] Use it
- [x] Export it

### Sub-Phase 6B: Capture

- [ ] 6B.1: Keep what was seen

## Files to Create/Modify

| File | Action |
|------|--------|
| \`src/estimate.ts\` | Create |
| \`test/estimate.test.ts\` | Create |

## Acceptance Criteria

- [ ] It counts
- [ ] It stops
`,
  phases: `# A library

## Overview

Small and tested.

**Test Command:** \`make test\`

## Phases

### Phase 1: Setup [COMPLETE]

**Dependencies:** None

- [x] Make the folders

### Phase 2: Core

**Dependencies:** Phase 1

- [x] Write the core
- [ ] Test the core

### Phase 3: Docs

**Dependencies:** Phase 1

- [ ] Write them

### Phase 4: Release

**Dependencies:** Phases 1-3

- [ ] Release
`,
  tasks: `# Implementation plan

## Context & Goals
- Handle it

## Prerequisites
- [x] verified
- [ ] not a task of the plan

## Detailed Plan

### Task 1: Add the type

- **Goal**: Define it
- **Depends on**: None
- **Changes**:
  - \`src/type.ts\`: add it
- **Verification**:
  - Unit test at 0 %, 50 %, 100 %
- **Rollback**: Revert

### Task 2: Use it

- **Goal**: Use it
- **Depends on**: Task 1
- **Verification**: look at it

### Task 3: Prompts

- **Depends on**: None

### Task 4: Tests and cleanup

- **Depends on**: Tasks 1-3

## Risks
Some.
`,
  validated: `# Feature

## Validation Commands

- \`npm run build\`
- \`npm test\`

### Task 1: Build it
- [x] write
- [x] wire

### Task 2: Show it
- [ ] render
`,
  tagged: `# Phase 16 Plan

## Overview
Prevent it.

## Tasks

<task id="16-01" type="auto" complexity="complex">
### Task 16-01: Rewrite the section

**Files:**
- \`src/a.md\` (section 6)

**Action:**
1. Rewrite it
   - remove \`old\`

**Acceptance Criteria:**
1. No longer contains "40%" -- verified by: \`grep -c "exceeds 40%" src/a.md\` (returns 0)
2. Mentions \`warn\` -- verified by: \`grep -c "warn" src/a.md\` (returns at least 1)
3. Is checked -- verified by: \`make check\`

**Done:** All pass.
</task>

<task id="16-02" type="checkpoint:human-verify" complexity="simple">

### Task 16-02: Look at it

**Action:** A person looks.
</task>
`,
  checklist: `# To do

Some words.

## First things

- [x] one
- [x] two
  - [x] nested

${fence}md
## Not a heading
- [ ] not a task
${fence}

<!--
- [ ] not a task either
-->

## Notes

Nothing to tick.

## Second things

- [ ] three
- plain item
`,
};
