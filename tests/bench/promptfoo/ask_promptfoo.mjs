// Asks the promptfoo that is installed in a folder: one case a line in, one answer a line out, in order.
//
//   node ask_promptfoo.mjs FOLDER < CASES.jsonl > ANSWERS.jsonl
//
// A case with `assert` is a test of several assertions, any other is one assertion. An answer has `pass` and `score`
// (and `named` where metrics are named), or `error` where promptfoo stops.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const found = createRequire(`${process.argv[2]}/package.json`).resolve('promptfoo');
const { assertions } = (await import(pathToFileURL(found))).default;
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true; // its own log goes to stdout too

function traced(calls) {
  const spans = calls.map((call, index) => ({
    spanId: String(index), name: call.tool, startTime: index, endTime: index,
    attributes: { 'tool.name': call.tool, 'tool.arguments': JSON.stringify(call.arguments ?? {}) },
  }));
  return { traceId: 'a'.repeat(32), traceData: { traceId: 'a'.repeat(32), evaluationId: 'e', testCaseId: 't', spans } };
}

async function answer(one) {
  const { output, tool_calls: calls, finish_reason: finishReason, latency, cost, replies, ...rest } = one;
  const shared = {
    prompt: 'What was asked', latencyMs: latency, providerResponse: { output, cost, finishReason },
    ...(calls && rest.type?.includes('trajectory:') ? traced(calls) : {}),
  };
  const options = replies === undefined ? {} : {
    provider: { id: () => 'scripted', callApi: async () => ({ output: replies }) },
  };
  if (rest.assert) {
    const test = { vars: {}, options, assert: rest.assert, threshold: rest.threshold };
    const { pass, score, namedScores } = await assertions.runAssertions({ ...shared, test });
    return { pass, score, ...(namedScores && Object.keys(namedScores).length ? { named: namedScores } : {}) };
  }
  if (calls && !rest.type.includes('trajectory:')) {
    shared.providerResponse.output = output || JSON.stringify({
      tool_calls: calls.map((call) => ({ function: { name: call.tool, arguments: '{}' } })),
    });
  }
  const { pass, score } = await assertions.runAssertion({ ...shared, assertion: rest, test: { vars: {}, options } });
  return { pass, score };
}

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    said = await answer(JSON.parse(line));
  } catch (error) {
    said = { error: String(error?.message ?? error).slice(0, 200) };
  }
  write(`${JSON.stringify(said)}\n`);
}
