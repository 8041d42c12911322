// `proctor hook install opencode` wrote this file, and `proctor hook uninstall opencode` removes it.
import { spawn } from "node:child_process"

const ask = (event, input) =>
  new Promise((answer) => {
    const words = `hook run ${event} --agent opencode`.split(" ")
    const child = spawn("proctor", words, { stdio: ["pipe", "pipe", "ignore"] })
    let text = ""
    child.stdout.on("data", (part) => (text += part))
    child.on("error", () => answer({}))
    child.on("close", () => {
      try { answer(JSON.parse(text || "{}")) } catch { answer({}) }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(input))
  })

const textOf = (parts) => parts.filter((part) => part.type === "text").map((part) => part.text).join("\n")

export const Proctor = async ({ client, directory }) => ({
  "chat.message": async ({ sessionID }, { parts }) => {
    await ask("chat.message", { session_id: sessionID, cwd: directory, prompt: textOf(parts) })
  },
  event: async ({ event }) => {
    if (event.type !== "session.idle") return
    const id = event.properties.sessionID
    const messages = (await client.session.messages({ path: { id } })).data ?? []
    const last = messages.findLast(({ info }) => info.role === "assistant")
    const said = await ask("session.idle", { session_id: id, cwd: directory, message: last ? textOf(last.parts) : "" })
    if (said.decision === "block") {
      await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: said.reason }] } })
    } else if (said.systemMessage) {
      await client.tui.showToast({ body: { message: said.systemMessage, variant: "warning" } }).catch(() => {})
    }
  },
})
