//! The service as a separate process, for tests of startup, shutdown and crashes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

/// The binary with the arguments and variables of every call.
#[derive(Debug, Clone)]
pub struct Program {
    binary: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Program {
    /// The program at `binary`, with this data directory.
    pub fn new(binary: &str, data: &Path) -> Self {
        let data = data.display().to_string();
        Self {
            binary: binary.to_owned(),
            arguments: vec!["--data".to_owned(), data],
            variables: Vec::new(),
        }
    }

    /// Adds a flag to every call.
    #[must_use]
    pub fn flag(mut self, name: &str, value: &str) -> Self {
        self.arguments.extend([name.to_owned(), value.to_owned()]);
        self
    }

    /// Adds an environment variable to every call.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).args(&self.arguments).envs(self.variables.iter().cloned());
        command
    }

    /// Runs a command and waits until it exits.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Runs a command with this text on its standard input and waits until it exits.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // A program that fails before it reads its input closes the pipe.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        child.wait_with_output().expect("the program ends")
    }

    /// Runs a command with `--json`, which must succeed, and parses the JSON object it prints.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<_> = arguments.iter().copied().chain(["--json"]).collect();
        let output = self.run(&arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        serde_json::from_slice(&output.stdout).expect("exactly one JSON object")
    }

    /// Starts the service on a free port and waits until it listens.
    pub fn serve(&self, arguments: &[&str]) -> Service {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let arguments: Vec<_> = serve.into_iter().chain(arguments.iter().copied()).collect();
        let mut command = self.command(&arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, receiver) = mpsc::channel();
        let log = std::thread::spawn(move || {
            let mut log = String::new();
            for line in stderr.lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("listening on http://") {
                    let _ = sender.send(address.parse().unwrap());
                }
                log += &line;
                log.push('\n');
            }
            log
        });
        let Ok(address) = receiver.recv_timeout(Duration::from_secs(60)) else {
            let _ = child.kill();
            panic!("the service did not start to listen: {}", log.join().unwrap());
        };
        Service { address, child, log: Some(log) }
    }
}

/// A running service.
pub struct Service {
    pub address: SocketAddr,
    child: Child,
    log: Option<std::thread::JoinHandle<String>>,
}

impl Service {
    /// The process's id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process without a graceful shutdown.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Stops the process with SIGTERM, waits until it exits, and returns its log.
    pub fn stop(mut self) -> (std::process::ExitStatus, String) {
        let id = self.child.id().to_string();
        let kill = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(kill.success());
        let exit_status = self.child.wait().unwrap();
        (exit_status, self.log.take().unwrap().join().unwrap())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
        if let Some(mut stdout) = self.child.stdout.take() {
            let _ = stdout.read_to_end(&mut Vec::new());
        }
    }
}
