// Lives tests/server/story.py with the TypeScript SDK: node story.mjs MODULES ERA < {command, args, env, records, relations, scores}
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, era] = process.argv.slice(2);
const from = (file) => import(pathToFileURL(join(modules, "@modelcontextprotocol", "client", "dist", file)).href);
const { Client } = await from("index.mjs");
const { StdioClientTransport } = await from("stdio.mjs");
const told = JSON.parse(readFileSync(0, "utf8"));

const client = new Client({ name: "story", version: "1" }, { versionNegotiation: { mode: era } });
await client.connect(new StdioClientTransport({ command: told.command, args: told.args, env: told.env }));

const call = async (name, args) => {
  const answer = await client.callTool({ name, arguments: args });
  if (answer.isError) throw new Error(`${name}: ${answer.content[0].text}`);
  return answer.structuredContent;
};

const judgedWhole = async (answer) => {
  while (answer.packets?.length) {
    const packets = answer.packets.map((packet) => {
      const [, score] = Object.entries(told.scores).find(([word]) => JSON.stringify(packet).includes(word));
      const judgments = packet.criterionIds.map((criterionId) => ({ criterionId, score, rationale: "As it says." }));
      return { digest: packet.digest, judgments };
    });
    answer = await call("submit_judgments", { runId: answer.runId, judgedBy: "ide", packets });
  }
  return answer;
};

await call("save_records", { records: told.records, relations: told.relations });
let run;
for (const promptVersionRef of ["p@1", "p@2"]) {
  run = await judgedWhole(await call("run_benchmark", { benchmarkId: "b", promptVersionRef, judge: "caller", waitSeconds: 10 }));
}
const wish = { promptVersionRef: "p@3", decidedBy: "ide" };
const refused = await client.callTool({ name: "approve_prompt_version", arguments: wish });
const compared = await call("compare_prompt_versions", {
  benchmarkId: "b", versionA: "p@1", versionB: "p@3", judge: "caller", waitSeconds: 10,
});
for (const side of ["A", "B"]) await judgedWhole(await call("get_run", { runId: `${compared.runId}:${side}` }));
const done = await call("get_run", { runId: compared.runId, waitSeconds: 10 });
const decided = await client.callTool({ name: "approve_prompt_version", arguments: wish });
await client.close();

process.stdout.write(
  JSON.stringify({
    regression: run.regression.evidence,
    refused: refused.isError ? refused.content[0].text.slice(0, 14) : "",
    verdict: done.comparison.verdict,
    decision: decided.isError ? decided.content[0].text.slice(0, 14) : "",
  }),
);
