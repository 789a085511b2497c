//! Finds request heads that two HTTP parsers may understand differently (request smuggling).
//!
//! The HTTP library accepts a bare line feed as a line ending, and a request with both `Content-Length` and
//! `Transfer-Encoding`. A proxy in front of the service may read such a request in another way. The scanner sees every
//! byte that comes in, finds each head, also of requests that are pipelined, and judges it before the request is handled.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a request head is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadFault {
    /// The length of the body is announced more than once.
    TwoLengths,
    /// A line ends with a line feed that no carriage return precedes.
    BareLineFeed,
}

impl HeadFault {
    /// What the client is told.
    pub fn detail(self) -> &'static str {
        match self {
            Self::TwoLengths => "A request has either one Content-Length or one Transfer-Encoding.",
            Self::BareLineFeed => {
                "The request line and every header line must end with a carriage return and a line feed."
            }
        }
    }
}

/// The request heads of one connection.
#[derive(Debug, Clone, Default)]
pub struct RequestHeads(Arc<Mutex<Scanner>>);

impl RequestHeads {
    /// Takes the verdict on the next request. Call this once for each request, in order.
    pub fn next_fault(&self) -> Option<HeadFault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).verdicts.pop_front().flatten()
    }

    /// Scans bytes that the client sent.
    pub(super) fn scan(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).scan(bytes);
    }
}

/// The longest head that is scanned. The server refuses a longer one.
const LONGEST: usize = super::server::MAX_HEADER_BYTES;

#[derive(Debug, Default)]
struct Scanner {
    state: State,
    /// The part of the current head that has come so far.
    head: Vec<u8>,
    /// Whether a line of the current head ends with a bare line feed.
    bare: bool,
    /// The verdicts on heads whose requests are not handled yet.
    verdicts: VecDeque<Option<HeadFault>>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    /// So many bytes of a body are still to come.
    Body(u64),
    /// Nothing more is scanned, because no further request is read from the connection.
    Closing,
}

impl Scanner {
    fn scan(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.state {
                State::Closing => return,
                State::Body(left) => {
                    let skipped = usize::try_from(left).map_or(bytes.len(), |n| n.min(bytes.len()));
                    bytes = &bytes[skipped..];
                    self.body_left(left - skipped as u64);
                }
                State::Head => {
                    let end = bytes.iter().position(|byte| *byte == b'\n').map(|place| place + 1);
                    let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
                    bytes = rest;
                    self.add(part, end.is_some());
                }
            }
        }
    }

    fn body_left(&mut self, left: u64) {
        self.state = if left == 0 { State::Head } else { State::Body(left) };
    }

    /// Adds a line of the head, or a part of one.
    fn add(&mut self, part: &[u8], ends_line: bool) {
        if self.head.len() + part.len() > LONGEST {
            self.state = State::Closing;
            return;
        }
        self.head.extend_from_slice(part);
        if !ends_line {
            return;
        }
        self.bare |= !self.head.ends_with(b"\r\n");
        if matches!(self.head.as_slice(), b"\r\n" | b"\n") {
            // Empty lines before a request are skipped.
            self.head.clear();
        } else if self.head.ends_with(b"\n\r\n") || self.head.ends_with(b"\n\n") {
            self.finish();
        }
    }

    /// The head is complete.
    fn finish(&mut self) {
        let lengths: Vec<_> = self.head.split(|byte| *byte == b'\n').filter_map(length).collect();
        self.verdicts.push_back(match lengths.as_slice() {
            [_, _, ..] => Some(HeadFault::TwoLengths),
            _ if self.bare => Some(HeadFault::BareLineFeed),
            _ => None,
        });
        match lengths.as_slice() {
            [] => self.body_left(0),
            [Length::Known(length)] => self.body_left(*length),
            // A chunked request is the last of its connection, and a refused one too.
            _ => self.state = State::Closing,
        }
        self.head.clear();
        self.bare = false;
    }
}

/// How a header line announces the length of the body.
#[derive(Clone, Copy)]
enum Length {
    Known(u64),
    /// The body is chunked, or the length is not a number.
    Unknown,
}

/// The length that a header line announces, if it announces one.
fn length(line: &[u8]) -> Option<Length> {
    let named = |name: &[u8]| {
        let (start, value) = line.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then_some(value)?.strip_prefix(b":")
    };
    if named(b"transfer-encoding").is_some() {
        return Some(Length::Unknown);
    }
    let value = std::str::from_utf8(named(b"content-length")?).unwrap_or_default();
    Some(value.trim().parse().map_or(Length::Unknown, Length::Known))
}

#[cfg(test)]
mod tests {
    use super::HeadFault::{BareLineFeed, TwoLengths};
    use super::*;

    /// The verdicts on a connection's bytes, whatever the size of the pieces in which they come.
    fn verdicts(text: &str) -> Vec<Option<HeadFault>> {
        let in_pieces = |size: usize| {
            let mut scanner = Scanner::default();
            for piece in text.as_bytes().chunks(size) {
                scanner.scan(piece);
            }
            Vec::from(scanner.verdicts)
        };
        let whole = in_pieces(text.len());
        for size in [1, 2, 3, 7] {
            assert_eq!(in_pieces(size), whole, "{text:?} in pieces of {size}");
        }
        whole
    }

    #[test]
    fn a_length_is_announced_once() {
        let chunked = "POST / HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\n";
        for twice in [
            &format!("{chunked}Content-length: 3\r\n\r\n"),
            &format!("\r\n\r\n{chunked}Content-length: 3\r\n\r\n"),
            &format!("{chunked}Content-length: 3\n\n"),
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        ] {
            assert_eq!(verdicts(twice), [Some(TwoLengths)], "{twice:?}");
        }
        for once in [
            &format!("{chunked}\r\ncontent-length: 3\r\n\r\n"),
            &format!("{chunked}Content-Length-Of-Hair: 3\r\n\r\n"),
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\n\n\n",
        ] {
            assert_eq!(verdicts(once), [None], "{once:?}");
        }
    }

    #[test]
    fn every_line_of_a_head_ends_with_both_characters() {
        for bare in [
            "GET / HTTP/1.1\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n\n",
            "\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\n\n",
        ] {
            assert_eq!(verdicts(bare), [Some(BareLineFeed)], "{bare:?}");
        }
    }

    #[test]
    fn pipelined_requests_are_judged_one_by_one() {
        let good = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\na\nb\n\n";
        let bare = "GET / HTTP/1.1\nHost: x\r\n\r\n";
        let text = format!("{good}{good}{bare}{good}");
        assert_eq!(verdicts(&text), [None, None, Some(BareLineFeed), None]);
        let twice = "GET / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(verdicts(&format!("{good}{twice}{bare}")), [None, Some(TwoLengths)]);
    }

    #[test]
    fn an_endless_head_is_not_kept() {
        let mut scanner = Scanner::default();
        for _ in 0..100 {
            scanner.scan(&[b'x'; 1000]);
        }
        assert!(scanner.head.len() <= LONGEST && scanner.verdicts.is_empty());
    }
}
