-- Drives Neovim (0.7 or later) as a person does: opens a failing test, edits above it, and mends it. `nvim --headless -c "luafile editor.lua"`.
local program = vim.env.LSP_PROCTOR
local bound = 60000

local function fail(what)
  io.stderr:write(what .. "\n" .. vim.inspect(vim.diagnostic.get(0)) .. "\n")
  vim.cmd("cquit 1")
end

local function expect(what, holds)
  if not vim.wait(bound, holds, 50) then fail(what) end
  print(what .. "\n")
end

local function only_at(line, severity)
  return function()
    local found = vim.diagnostic.get(0)
    return #found == 1 and found[1].lnum == line and found[1].severity == severity and found[1].message:find("test_total", 1, true) ~= nil
  end
end

vim.cmd("edit test_shop.py")
local client = vim.lsp.start_client({ cmd = { program, "lsp" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, client)
expect("the failing assertion is marked", only_at(4, vim.diagnostic.severity.ERROR))

local lenses
vim.lsp.buf_request(0, "textDocument/codeLens", { textDocument = vim.lsp.util.make_text_document_params() }, function(_, result) lenses = result end)
expect("the test says how it ended", function()
  return lenses and lenses[1] and lenses[1].range.start.line == 3 and lenses[1].command.title:match("^failed %d+ %a+ ago$") ~= nil
end)

-- What a lens or a person asks for is told as a message; a client without `window/showDocument` is told the command for the log.
local told = {}
vim.lsp.handlers["window/showMessage"] = function(_, result) table.insert(told, result.message) end
local function command(name, argument, expected)
  vim.lsp.buf_request(0, "workspace/executeCommand", { command = name, arguments = { argument } }, function() end)
  expect(name .. " answers", function()
    for _, message in ipairs(told) do
      if message:find(expected, 1, true) then return true end
    end
  end)
end
command("proctor.showLog", "STEP.1", " --log STEP.1")
command("proctor.runAlone", "pytest test_shop.py::test_total", "pytest test_shop.py::test_total")
command("proctor.why", vim.uri_from_bufnr(0), "test_shop.py")

vim.api.nvim_buf_set_lines(0, 0, 0, false, { "# one", "# two" })
expect("the mark moves with its line", only_at(6, vim.diagnostic.severity.ERROR))

vim.api.nvim_buf_set_lines(0, 6, 7, false, { "    assert total([1, 2, 3]) == 7" })
expect("what was changed is a hint", only_at(6, vim.diagnostic.severity.HINT))

vim.cmd("write")
expect("a green verdict takes the mark away", function() return #vim.diagnostic.get(0) == 0 end)

vim.api.nvim_buf_set_lines(0, 6, 7, false, { "    assert total([1, 2, 3]) == 8" })
vim.cmd("write")
expect("a red verdict after a save is marked", only_at(6, vim.diagnostic.severity.ERROR))

local function runs()
  local listed = vim.fn.systemlist({ program, "log" })
  return #listed
end
local before = runs()
vim.lsp.buf_request(0, "workspace/executeCommand", { command = "proctor.run" }, function() end)
expect("proctor.run has the service run the checks", function() return runs() > before end)
vim.cmd("quitall!")
