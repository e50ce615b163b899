import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { secondsOf } from './rings.ts'

/** Starts the longest files of each project first: at the end nobody waits for one that began late. */
export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => secondsOf[relative(this.ctx.config.root, moduleId)] ?? 0
    // One project after the other: processes serve many files of one project.
    const sorted = await super.sort(specifications)
    const projects = [...new Set(sorted.map(({ project }) => project))]
    return projects.flatMap((project) =>
      sorted.filter((one) => one.project === project).sort((a, b) => seconds(b) - seconds(a)),
    )
  }
}
