//! Links to call, text or email somebody.

use kit::contact;

/// The phone number and email address of a person, as links.
#[derive(Debug, Clone, Default)]
pub struct ContactLinks {
    /// The number as it was entered, and its digits for a link. Without digits it cannot be called.
    pub phone: Option<(String, Option<String>)>,
    /// The address, and the link to it.
    pub email: Option<(String, String)>,
}

impl ContactLinks {
    pub fn new(phone: Option<&str>, email: Option<&str>) -> Self {
        Self {
            phone: phone.map(|phone| (phone.to_owned(), contact::normalize_phone(phone))),
            email: email.map(|email| (email.to_owned(), mailto(email))),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.phone.is_none() && self.email.is_none()
    }
}

/// A link to an email address. Characters that would begin other parts of the link are encoded.
fn mailto(email: &str) -> String {
    let encode = |c: char| match c {
        '%' | '?' | '&' | '#' | '/' => format!("%{:02X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("mailto:{}", email.chars().map(encode).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_contain_only_the_number_and_the_address() {
        let links = ContactLinks::new(Some("+351 912 345 678"), Some("a?cc=b&c@x.org"));
        assert_eq!(links.phone.unwrap().1.as_deref(), Some("+351912345678"));
        assert_eq!(links.email.unwrap().1, "mailto:a%3Fcc=b%26c@x.org");
        assert_eq!(ContactLinks::new(Some("ask Rui"), None).phone.unwrap().1, None);
    }
}
