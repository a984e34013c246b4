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
  kiro: `# Implementation Plan

- [x] 1. Set up the project
  - Create \`package.json\`
  - _Requirements: 1.1_

- [-] 2. The session store
  - [x] 2.1 Create the table
    - _Requirements: 1.2, 2.1_
  - [ ] 2.2 Expire sessions
    - _Requirements: 9.9_
  - [ ]* 2.3 Write property tests for it
  - [~] 2.4 Metrics

- [ ] 3. Checkpoint - all tests pass

- [ ] 4. The form
  - [ ] 4.1 Fields
`,
  specKit: `---
description: "Task list for albums"
---

# Tasks: Photo albums

**Input**: Design documents from \`specs/001-albums/\`

## Phase 1: Setup (Shared Infrastructure)

- [X] T001 Create the project structure
- [ ] T002 [P] Configure linting in \`config/lint.json\`

## Phase 2: Foundational (Blocking Prerequisites)

- [ ] T003 Create the schema in src/db/schema.ts

**Checkpoint**: Foundation ready, stories can begin

## Phase 3: User Story 1 - Make an album (Priority: P1)

- [ ] T004 [P] [US1] Album model in src/models/album.ts
- [ ] T005 [US1] Album page (depends on T004)

## Phase 4: User Story 2 - Share it (Priority: P2)

- [ ] T006 [US2] Share link in src/share.ts

## Phase 5: User Story 3 - Comments (Priority: P3)

- [ ] T007 [US3] Comments (depends on T006)

## Phase 6: Polish & Cross-Cutting Concerns

- [ ] T008 [P] Documentation

## Dependencies & Execution Order

- **User Story 1 (P1)**: Can start after Foundational - no dependencies on other stories
- **User Story 2 (P2)**: depends on US1 for its data
`,
  superpowers: `# Cache Implementation Plan

**Goal:** Answers are kept.

## Global Constraints

- none

### Task 1: The cache

**Files:**
- Create: \`src/cache.ts\`
- Modify: \`src/index.ts:10-20\`
- Test: \`test/cache.test.ts\`

- [ ] **Step 1: Write the failing test**

${fence}ts
expect(1).toBe(2);
${fence}

- [ ] **Step 2: Run it to see it fail**

Run: \`npm test -- cache\`
Expected: FAIL with "no cache"

- [ ] **Step 3: Write it, then run it again**

Run: \`npm test -- cache\`
Expected: PASS

### Task 2: Documents

- [ ] **Step 1: Write them**

${fence}markdown
${fence}bash
- [ ] this was meant as an example
- [ ] and this
${fence}
`,
  bmad: `# Story 2.3: Reset a password

Status: ready-for-dev

## Story

As a user, I want to reset my password, so that I can get in again.

## Acceptance Criteria

1. **Given** a known address, **When** it is entered, **Then** a mail is sent
2. **Given** a token that is an hour old, **Then** it is refused

## Tasks / Subtasks

- [x] Task 1: The token (AC: 2)
  - [x] 1.1 Make it in \`src/token.ts\`
- [ ] Task 2: The mail (AC: #1)
  - [ ]2.1 Write it
  - [ ] 2.2 Send it
- [ ] Task 3: Documents

## Quality Gates

- [ ] \`npm run lint\` has no error
- [ ] Reviewed by somebody else

## Verification

**Commands:**

- \`npm test\` -- expected: all pass

## Dev Notes

- Nothing.
`,
};
