//! What is typed into the forms of the store, on its way to become what the API's bodies say: from there on
//! the same rules read it.

use kit::{AmountFault, Currency, LocalTime, Money, Timestamp, Zone};
use serde_json::{Map, Value};

use super::placed;
use crate::money::MOST;
use crate::web::fields::{Fields, FromBody};
use crate::web::form::Faults;

/// A body in the making, and what is wrong with what was typed.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    members: Map<String, Value>,
    pub(super) faults: Faults,
}

impl Sheet {
    /// A member as it is.
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    /// A text; nothing typed is nothing said.
    pub(super) fn text(&mut self, name: &str, typed: &str) {
        let typed = typed.trim().replace("\r\n", "\n");
        self.set(name, Some(typed).filter(|text| !text.is_empty()));
    }

    /// A text that must be there.
    pub(super) fn required(&mut self, name: &str, typed: &str, missing: &str) {
        if typed.trim().is_empty() {
            self.faults.add(name, missing);
        }
        self.text(name, typed);
    }

    /// An amount of money; nothing typed is none.
    pub(super) fn money(&mut self, name: &str, typed: &str, currency: Currency) {
        self.read(name, name, typed, |text| amount(text, currency));
    }

    /// A part in percent; nothing typed is none.
    pub(super) fn percent(&mut self, name: &str, typed: &str) {
        self.read(name, name, typed, points);
    }

    /// A whole number; nothing typed is none.
    pub(super) fn number(&mut self, name: &str, typed: &str) {
        self.read(name, name, typed, whole);
    }

    /// A moment on the clocks of the club; nothing typed is none.
    pub(super) fn moment(&mut self, name: &str, typed: &str, zone: &Zone) {
        self.read(name, name, typed, |text| {
            let local: Option<LocalTime> = text.parse().ok();
            let moment = local.and_then(|local| zone.nearest(local));
            moment
                .map(|moment| moment.to_string())
                .ok_or_else(|| "Write a day and a time, such as 2026-09-05T18:30.".to_owned())
        });
    }

    /// Reads a member from what was typed; what is wrong with it is told at a place.
    pub(super) fn read<T: Into<Value>>(
        &mut self,
        name: &str,
        place: &str,
        typed: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) {
        let typed = typed.trim();
        if typed.is_empty() {
            self.set(name, Value::Null);
            return;
        }
        match read(typed) {
            Ok(value) => self.set(name, value),
            Err(wrong) => self.faults.add(place, wrong),
        }
    }

    /// The members so far.
    pub(super) fn into_members(self) -> (Value, Faults) {
        (Value::Object(self.members), self.faults)
    }

    /// What the form means, or everything that is wrong.
    pub(super) fn finish<T: FromBody>(self) -> Result<T, Faults> {
        let (body, mut faults) = self.into_members();
        match Fields::read(body) {
            Ok(read) if faults.is_empty() => Ok(read),
            Ok(_) => Err(faults),
            Err(error) => {
                // What was said about the text itself stays.
                for fault in &error.faults {
                    let place = fault.pointer.trim_start_matches('/').replace('/', "-");
                    faults.add(&place, fault.detail.clone());
                }
                Err(if faults.is_empty() { placed(&error) } else { faults })
            }
        }
    }
}

/// An amount as it was typed.
pub(super) fn amount(text: &str, currency: Currency) -> Result<i64, String> {
    match Money::parse(text, currency) {
        Ok(money) if money.minor <= MOST => Ok(money.minor),
        Ok(_) | Err(AmountFault::TooLarge) => Err("This is more than can be kept.".to_owned()),
        Err(_) => {
            let like = Money { minor: 10i64.pow(currency.digits()) * 25, currency }.plain();
            Err(format!("Write an amount like {like}."))
        }
    }
}

/// A whole number as it was typed.
pub(super) fn whole(text: &str) -> Result<i64, String> {
    let numeric = text.bytes().all(|byte| byte.is_ascii_digit());
    let read = text.parse().ok().filter(|_| numeric);
    read.ok_or_else(|| "Write a whole number.".to_owned())
}

/// Basis points from percent as they were typed.
fn points(text: &str) -> Result<i64, String> {
    let text = text.trim_end_matches('%').trim_end();
    let (whole, part) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let numeric = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = numeric(whole) && numeric(part) && whole.len() <= 3 && part.len() <= 2;
    let read = |text: &str| text.parse::<i64>().ok();
    let read = read(whole).zip(read(&format!("{part:0<2}"))).filter(|_| fits);
    let points = read.map(|(whole, part)| whole * 100 + part).filter(|points| *points <= 10_000);
    points.ok_or_else(|| "Write a part from 0 to 100 percent, such as 7.5.".to_owned())
}

/// A moment as a form shows it, on the clocks of the club.
pub(super) fn local(moment: Option<Timestamp>, zone: &Zone) -> String {
    let written = |moment| {
        let local = zone.local(moment);
        format!("{}T{:02}:{:02}", local.day(), local.hour(), local.minute())
    };
    moment.map(written).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_read_as_people_type_them() {
        for (text, read) in [("23", 2300), ("7.5", 750), ("7,25 %", 725), ("100", 10_000), ("0", 0)]
        {
            assert_eq!(points(text), Ok(read), "{text}");
        }
        for text in ["", "-1", "100.01", "7.125", "a", "1000", "%"] {
            assert!(points(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_moment_comes_back_as_it_was_typed() {
        let zone: Zone = "Europe/Lisbon".parse().unwrap();
        let mut sheet = Sheet::default();
        sheet.moment("at", "2026-07-01T18:30", &zone);
        sheet.moment("never", " ", &zone);
        sheet.moment("odd", "soon", &zone);
        assert!(!sheet.faults.at("odd").is_empty());
        let (body, _) = sheet.into_members();
        assert_eq!(
            (body["at"].as_str(), &body["never"]),
            (Some("2026-07-01T17:30:00.000000Z"), &Value::Null)
        );
        let moment: Timestamp = body["at"].as_str().unwrap().parse().unwrap();
        assert_eq!(local(Some(moment), &zone), "2026-07-01T18:30");
    }
}
