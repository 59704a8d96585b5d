"""Completion for PowerShell, which click lacks. Importing this module registers it with click."""

from __future__ import annotations

import os

from click.shell_completion import CompletionItem, ShellComplete, add_completion_class

# PowerShell parses the line; the words before the cursor go to the command, one on each line. Where
# the script block writes nothing, PowerShell completes the names of files.
SCRIPT = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = $commandAst.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or $wordToComplete -eq "" } |
        ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) `
            { $_.Value } else { $_.Extent.Text } }
    try {
        $env:COMP_WORDS = $words -join "`n"
        $env:COMP_CWORD = $wordToComplete
        $env:%(complete_var)s = "powershell_complete"
        %(prog_name)s | ForEach-Object {
            $type, $value, $help = $_ -split "`t", 3
            if ($type -eq "plain") {
                [System.Management.Automation.CompletionResult]::new($value, $value, "ParameterValue", $help)
            }
        }
    } finally {
        Remove-Item Env:COMP_WORDS, Env:COMP_CWORD, Env:%(complete_var)s -ErrorAction SilentlyContinue
    }
}
"""


@add_completion_class
class PowerShellComplete(ShellComplete):
    """The exchange between completion script and command, through environment variables."""

    name = "powershell"
    source_template = SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        words = os.environ.get("COMP_WORDS", "").splitlines()
        return words[1:], os.environ.get("COMP_CWORD", "").strip("'\"")

    def format_completion(self, item: CompletionItem) -> str:
        # a CompletionResult refuses an empty one
        help = " ".join((item.help or item.value).split())
        return f"{item.type}\t{item.value}\t{help}"
