// A reporter of node:test that says what a Go test reads: one JSON object a line.
export default async function* reporter(source) {
  for await (const { type, data } of source) {
    if (type === "test:pass" || type === "test:fail") {
      const cause = data.details?.error?.cause ?? data.details?.error;
      yield JSON.stringify({
        name: data.name,
        depth: data.nesting,
        failure: type === "test:fail" ? String(cause?.stack ?? cause ?? "failed") : "",
        skipped: data.skip !== undefined || data.todo !== undefined,
      }) + "\n";
    } else if (type === "test:diagnostic" && !/^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /.test(data.message)) {
      yield JSON.stringify({ note: data.message }) + "\n";
    } else if (type === "test:stdout" || type === "test:stderr") {
      yield JSON.stringify({ note: data.message.trimEnd() }) + "\n";
    }
  }
}
