//! Runs a program: prints and collects its output, enforces a time limit, and ends it with this process.

use crate::guard::Guard;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(200);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait for the remaining output after a program has exited.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);

/// A program to run.
pub(crate) struct Job {
    command: Command,
    limit: Option<Duration>,
    quiet: bool,
}

/// The result of a job, and its lines of output: stdout and stderr in the order of arrival.
pub(crate) struct JobResult {
    pub(crate) ok: bool,
    pub(crate) lines: Vec<String>,
}

impl Job {
    pub(crate) fn new<A: AsRef<OsStr>>(
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command, limit: None, quiet: false }
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes the inherited environment variables that match.
    pub(crate) fn env_remove_matching(mut self, matches: impl Fn(&str) -> bool) -> Self {
        env_remove_matching(&mut self.command, matches);
        self
    }

    pub(crate) fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Stops the program when it takes longer, which counts as a failure.
    pub(crate) fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Prints neither the command nor its output.
    pub(crate) fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    pub(crate) fn run(mut self) -> Result<JobResult, String> {
        if !self.quiet {
            println!("$ {}", self.text());
        }
        let mut child = self
            .command
            .spawn()
            .map_err(|e| format!("cannot run {}: {e}", self.command.get_program().display()))?;
        let pid = OsString::from(child.id().to_string());
        let guard = Guard::new("kill -TERM \"$1\"", &[&pid])?;
        let output = read_output(&mut child);
        let result = self.watch(&mut child, &output);
        guard.dismiss();
        result
    }

    /// Runs without printing. A failure is an error that contains the output.
    pub(crate) fn run_checked(self) -> Result<Vec<String>, String> {
        let text = self.text();
        let JobResult { ok, lines } = self.quiet().run()?;
        if ok { Ok(lines) } else { Err(format!("{text} failed:\n{}", lines.join("\n"))) }
    }

    fn text(&self) -> String {
        let mut words = vec![self.command.get_program().to_string_lossy()];
        words.extend(self.command.get_args().map(OsStr::to_string_lossy));
        words.join(" ")
    }

    fn watch(&self, child: &mut Child, output: &Receiver<String>) -> Result<JobResult, String> {
        let started = Instant::now();
        let mut lines = Vec::new();
        let mut status: Option<ExitStatus> = None;
        loop {
            match output.recv_timeout(if status.is_some() { OUTPUT_TIMEOUT } else { POLL_INTERVAL })
            {
                Ok(line) => self.record_line(line, &mut lines),
                Err(RecvTimeoutError::Disconnected) if status.is_none() => {
                    std::thread::sleep(POLL_INTERVAL);
                }
                // The program has exited and is silent. Do not wait for a grandchild that holds the pipe.
                Err(_) if status.is_some() => break,
                Err(_) => {}
            }
            if status.is_none() {
                status = child.try_wait().map_err(|e| format!("cannot wait for a program: {e}"))?;
            }
            if let (None, Some(limit)) = (status, self.limit)
                && started.elapsed() > limit
            {
                stop(child);
                self.record_line(format!("stopped after {} seconds", limit.as_secs()), &mut lines);
                return Ok(JobResult { ok: false, lines });
            }
        }
        Ok(JobResult { ok: status.is_some_and(|status| status.success()), lines })
    }

    fn record_line(&self, line: String, lines: &mut Vec<String>) {
        if !self.quiet {
            println!("{line}");
        }
        lines.push(line);
    }
}

/// Removes the inherited environment variables that match.
pub(crate) fn env_remove_matching(command: &mut Command, matches: impl Fn(&str) -> bool) {
    let inherited = std::env::vars_os().map(|(name, _)| name);
    for name in inherited.filter(|name| matches(&name.to_string_lossy())) {
        command.env_remove(name);
    }
}

/// Sends SIGTERM, then SIGKILL if the program does not exit in time.
pub(crate) fn stop(child: &mut Child) {
    let started = Instant::now();
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    while started.elapsed() < STOP_TIMEOUT {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        std::thread::sleep(POLL_INTERVAL / 4);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn read_output(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(stream) = child.stdout.take() {
        forward_lines(stream, sender.clone());
    }
    if let Some(stream) = child.stderr.take() {
        forward_lines(stream, sender);
    }
    receiver
}

fn forward_lines(stream: impl Read + Send + 'static, sender: Sender<String>) {
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        // Bytes, because a test may print invalid UTF-8.
        while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_returns_output_and_status() {
        let finished = Job::new("sh", ["-c", "echo one; echo two >&2; exit 3"]).quiet().run();
        let mut finished = finished.unwrap();
        finished.lines.sort();
        assert_eq!(finished.lines, ["one", "two"]);
        assert!(!finished.ok);
    }

    #[test]
    fn job_stops_at_its_time_limit() {
        let job = Job::new("sleep", ["60"]).quiet().time_limit(Duration::from_millis(300));
        let started = Instant::now();
        assert!(!job.run().unwrap().ok);
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn grandchild_does_not_keep_the_job_running() {
        let started = Instant::now();
        assert!(Job::new("sh", ["-c", "sleep 50 & exit 0"]).quiet().run().unwrap().ok);
        // Well before the grandchild ends, even on a busy machine.
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
