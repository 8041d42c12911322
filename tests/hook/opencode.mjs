// Has the real OpenCode answer one prompt in a directory, and waits until it has said as much as is wanted: `PROGRAM DIRECTORY PROMPT NUMBER`.
import { spawn } from "node:child_process"

const [program, directory, prompt, wanted] = process.argv.slice(2)
const server = spawn(program, ["serve", "--port", "0"], { cwd: directory, stdio: ["ignore", "pipe", "inherit"], detached: true })
const address = await new Promise((found) => {
  let text = ""
  server.stdout.on("data", (part) => {
    text += part
    const match = text.match(/http:\/\/127\.0\.0\.1:\d+/)
    if (match) found(match[0])
  })
})
const ask = async (path, body) => {
  const sent = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
  return (await fetch(address + path, sent)).json()
}
try {
  const { id } = await ask("/session", {})
  await ask(`/session/${id}/message`, { parts: [{ type: "text", text: prompt }] })
  for (let round = 0; round < 240; round++) {
    const all = await ask(`/session/${id}/message`)
    if (all.filter(({ info }) => info.role === "assistant" && info.time.completed).length >= Number(wanted)) break
    await new Promise((later) => setTimeout(later, 250))
  }
} finally {
  process.kill(-server.pid)
}
