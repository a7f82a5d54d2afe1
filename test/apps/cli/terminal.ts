import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { stripVTControlCharacters } from 'node:util'

/** A program in a terminal of its own. */
export interface Terminal {
  /** What can be seen. */
  readonly screen: () => string
  /** Presses keys. `\r` is Enter, `\x03` is Ctrl-C, `\x04` is Ctrl-D, `\x1b[A` is the arrow up. */
  readonly press: (keys: string) => void
  readonly close: () => void
}

/** The columns and lines of a terminal. One without a screen has none. */
type TerminalSize = readonly [columns: number, lines: number]

/** Whether a terminal shows what is on its screen, and not everything that was ever written. */
export const hasScreen: boolean = has('tmux', '-V')

/** How to open a terminal on this machine; `undefined` when there is no way. */
export const openTerminal:
  | ((command: readonly string[], size?: TerminalSize) => Terminal)
  | undefined = hasScreen ? openTmux : has('python3', '--version') ? openPty : undefined

function has(program: string, option: string): boolean {
  return spawnSync(program, [option], { stdio: 'ignore' }).status === 0
}

/** The screen as tmux draws it. It has a server of its own, so that nobody else's sessions are touched. */
function openTmux(
  command: readonly string[],
  [columns, lines]: TerminalSize = [100, 40],
): Terminal {
  const name = `allm-${randomUUID()}`
  const tmux = (...args: readonly string[]): string =>
    spawnSync('tmux', ['-L', name, '-f', '/dev/null', ...args], { encoding: 'utf8' }).stdout
  tmux('new-session', '-d', '-x', String(columns), '-y', String(lines), shellLine(command))
  return {
    screen: () => tmux('capture-pane', '-p'),
    press: (keys) =>
      void tmux('send-keys', '-H', ...Array.from(Buffer.from(keys), (byte) => byte.toString(16))),
    close: () => void tmux('kill-server'),
  }
}

/** A pseudo-terminal without a screen: everything that was ever written. */
function openPty(command: readonly string[]): Terminal {
  const code = 'import pty, sys; pty.spawn(["sh", "-c", sys.argv[1]])'
  const child: ChildProcess = spawn('python3', ['-c', code, shellLine(command)], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let text = ''
  child.stdout?.on('data', (chunk) => (text += String(chunk)))
  return {
    screen: () => stripVTControlCharacters(text).replaceAll('\r', ''),
    press: (keys) => void child.stdin?.write(keys),
    close: () => void child.kill('SIGKILL'),
  }
}

/** Runs a command and says how it ended. Ctrl-C reaches the shell, too, and some shells would end with it. */
function shellLine(command: readonly string[]): string {
  return `trap : INT; ${command.map(quoted).join(' ')}; echo "left with $?"; cat`
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}
