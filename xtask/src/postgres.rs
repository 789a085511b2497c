//! A PostgreSQL of our own for the time of one run.
//!
//! It listens on this machine only, on a free port, trusts everybody, forgets everything, and
//! never touches a cluster that is here already.

use crate::guard::Guard;
use crate::job::Job;
use crate::scratch;
use std::ffi::{OsStr, OsString};
use std::fs::{OpenOptions, read_to_string};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// PostgreSQL does not run as root; Debian's package brings this user along.
const OWNER: &str = "postgres";

const SETTINGS: &str = "\
listen_addresses = '127.0.0.1'
ssl = on
max_connections = 400
log_min_messages = warning
";

/// The file with the authority's certificate.
const AUTHORITY: &str = "authority.pem";

/// What OpenSSL, which Debian's PostgreSQL brings along, is asked to do, in this order.
const CERTIFY: [&str; 3] = [
    "req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=authority -keyout authority.key -out authority.pem",
    "req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr",
    "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 9 -extfile extension -out server.pem",
];

/// Speed instead of safety: nothing in here is worth keeping after a crash.
const FORGETFUL: &str = "\
fsync = off
synchronous_commit = off
full_page_writes = off
";

pub(crate) struct Postgres {
    port: u16,
    folder: PathBuf,
    _guard: Guard,
}

impl Postgres {
    /// Starts a new, empty server with the programs in `programs`.
    pub(crate) fn start(programs: &Path) -> Result<Self, String> {
        Self::start_in(programs, scratch::folder("postgres")?, FORGETFUL)
    }

    /// The certificate of the authority that vouches for the server where encryption is asked for.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.join(AUTHORITY)
    }

    /// The same below `base`, where its disk is, with everything durable that it says is.
    pub(crate) fn start_durable(programs: &Path, base: &Path) -> Result<Self, String> {
        let folder = scratch::folder_in(base, "postgres")
            .map_err(|e| format!("cannot make a folder in {}: {e}", base.display()))?;
        Self::start_in(programs, folder, "")
    }

    fn start_in(
        programs: &Path,
        folder: PathBuf,
        durability: &'static str,
    ) -> Result<Self, String> {
        let home = Home { programs, data: folder.join("data"), folder, durability };
        let guard = home.guard()?;
        home.make()?;
        home.certify()?;
        let port = home.start()?;
        Ok(Self { port, folder: home.folder, _guard: guard })
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://touchline@127.0.0.1:{}/postgres", self.port)
    }
}

struct Home<'a> {
    programs: &'a Path,
    folder: PathBuf,
    data: PathBuf,
    durability: &'static str,
}

impl Home<'_> {
    fn guard(&self) -> Result<Guard, String> {
        let stop = self.words("pg_ctl", &["stop", "--mode=immediate", "--pgdata"]);
        let mut words = vec![self.folder.as_os_str()];
        words.extend(stop.iter().map(OsString::as_os_str));
        words.push(self.data.as_os_str());
        Guard::new("folder=$1; shift; \"$@\"; rm -rf -- \"$folder\"", &words)
    }

    fn make(&self) -> Result<(), String> {
        if is_root() {
            Job::new("chown", [OsStr::new(OWNER), self.folder.as_os_str()]).must()?;
        }
        let mut initdb = self.words(
            "initdb",
            &["--username=touchline", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
        );
        initdb.extend(["--pgdata".into(), self.data.clone().into()]);
        self.run(&initdb)
    }

    /// Makes an authority and a certificate for this machine, both worthless in a few days.
    fn certify(&self) -> Result<(), String> {
        let extension = self.folder.join("extension");
        std::fs::write(&extension, "subjectAltName = IP:127.0.0.1")
            .map_err(|e| format!("cannot write {}: {e}", extension.display()))?;
        for line in CERTIFY {
            let mut words = Self::owned();
            words.push("openssl".into());
            words.extend(line.split(' ').map(OsString::from));
            self.run(&words)?;
        }
        Ok(())
    }

    /// Somebody else may take the free port before we do, hence more than one try.
    fn start(&self) -> Result<u16, String> {
        let log = self.folder.join("log");
        let mut start = self.words("pg_ctl", &["start", "--wait", "--timeout=60", "--pgdata"]);
        start.extend([self.data.clone().into(), "--log".into(), log.clone().into()]);
        let mut why = String::new();
        for _ in 0..3 {
            let port = free_port()?;
            self.configure(port)?;
            match self.run(&start) {
                Ok(()) => return Ok(port),
                Err(told) => why = told,
            }
        }
        Err(format!("{why}\n{}", read_to_string(log).unwrap_or_default()))
    }

    fn configure(&self, port: u16) -> Result<(), String> {
        let told = |e: std::io::Error| format!("cannot configure PostgreSQL: {e}");
        let file = self.data.join("postgresql.conf");
        let mut file = OpenOptions::new().append(true).open(file).map_err(told)?;
        let (folder, durability) = (self.folder.display(), self.durability);
        // The last word on a setting counts, so a second try simply adds to the file.
        write!(
            file,
            "\n{SETTINGS}{durability}unix_socket_directories = '{folder}'\nport = {port}\n\
             ssl_cert_file = '{folder}/server.pem'\nssl_key_file = '{folder}/server.key'\n"
        )
        .map_err(told)
    }

    fn run(&self, words: &[OsString]) -> Result<(), String> {
        let (program, args) = words.split_first().ok_or("nothing to run")?;
        // The owner may not enter the folder of whoever started us.
        Job::new(program, args).within(&self.folder).must().map(drop)
    }

    /// The words that make what follows them run as the owner of the server.
    fn owned() -> Vec<OsString> {
        let words = if is_root() { &["runuser", "-u", OWNER, "--"][..] } else { &[] };
        words.iter().map(OsString::from).collect()
    }

    fn words(&self, program: &str, args: &[&str]) -> Vec<OsString> {
        let mut words = Self::owned();
        words.push(self.programs.join(program).into());
        words.extend(args.iter().map(OsString::from));
        words
    }
}

/// The process belongs to whoever runs it.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn free_port() -> Result<u16, String> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|e| format!("no free port: {e}"))
}
