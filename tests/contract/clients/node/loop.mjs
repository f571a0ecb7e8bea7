// A tool loop with OpenAI's client for Node.js, by both APIs, streamed and not; prints one line of JSON a way.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
const parameters = { type: "object", properties: { location: { type: "string" } } };
const flat = [{ type: "function", name: "get_weather", description: "w", parameters, strict: false }];
const nested = [{ type: "function", function: { name: "get_weather", description: "w", parameters } }];

async function respond(body, streamed) {
  if (!streamed) return client.responses.create(body);
  const stream = client.responses.stream(body);
  return stream.finalResponse();
}

async function complete(body, streamed) {
  if (!streamed) return (await client.chat.completions.create(body)).choices[0].message;
  const stream = client.chat.completions.stream(body);
  return stream.finalMessage();
}

for (const streamed of [false, true]) {
  const input = [{ role: "user", content: "weather?" }];
  const first = await respond({ model: "tools", input, tools: flat }, streamed);
  const call = first.output.find((item) => item.type === "function_call");
  input.push(...first.output, { type: "function_call_output", call_id: call.call_id, output: "sunny" });
  const last = await respond({ model: "tools", input, tools: flat }, streamed);
  console.log(JSON.stringify({ api: "responses", streamed, arguments: call.arguments, text: last.output_text }));
}

for (const streamed of [false, true]) {
  const messages = [{ role: "user", content: "weather?" }];
  const first = await complete({ model: "tools", messages, tools: nested }, streamed);
  const [call] = first.tool_calls;
  messages.push(first, { role: "tool", tool_call_id: call.id, content: "sunny" });
  const last = await complete({ model: "tools", messages, tools: nested }, streamed);
  console.log(JSON.stringify({ api: "chat", streamed, arguments: call.function.arguments, text: last.content }));
}

try {
  await client.responses.create({ model: "missing", input: "hi" });
} catch (error) {
  console.log(JSON.stringify({ api: "error", status: error.status, param: error.param }));
}
