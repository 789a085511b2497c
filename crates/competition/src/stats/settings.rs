//! The values of a sport's settings.

use super::definition::Setting;

/// The value of each setting of a sport.
#[derive(Debug, Clone)]
pub struct Settings {
    values: Vec<(&'static Setting, f64)>,
}

/// Why a setting was rejected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingFault {
    /// The sport has no setting with this key.
    UnknownKey,
    /// The value is not between the limits of the setting.
    OutOfRange {
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
    },
}

impl Settings {
    pub(super) fn new(settings: &'static [Setting]) -> Self {
        Self { values: settings.iter().map(|setting| (setting, setting.default)).collect() }
    }

    /// Changes a setting.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), SettingFault> {
        let found = self.values.iter_mut().find(|(setting, _)| setting.key == key);
        let (setting, current) = found.ok_or(SettingFault::UnknownKey)?;
        let Setting { min, max, .. } = **setting;
        // Not a number is in no range.
        if !(min..=max).contains(&value) {
            return Err(SettingFault::OutOfRange { min, max });
        }
        *current = value;
        Ok(())
    }

    /// The value of a setting.
    pub fn get(&self, key: &str) -> Option<f64> {
        self.values.iter().find(|(setting, _)| setting.key == key).map(|(_, value)| *value)
    }

    /// All settings with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Setting, f64)> {
        self.values.iter().copied()
    }
}
