//! Links to a place on a map.

use crate::events::location::Location;
use crate::web::visitor::url_encode;

/// Links to a place: one that a phone opens in its map app, and one to OpenStreetMap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::events) struct MapLinks {
    pub geo: String,
    pub web: String,
}

impl MapLinks {
    /// The links to a place. `None` if neither its coordinates nor its address are known.
    pub(in crate::events) fn new(place: &Location) -> Option<Self> {
        let encode = |text: &str| url_encode(text).replace('+', "%20");
        if let (Some(latitude), Some(longitude)) = (place.latitude, place.longitude) {
            let at = format!("{latitude},{longitude}");
            let marker = format!("mlat={latitude}&mlon={longitude}#map=17/{latitude}/{longitude}");
            let web = format!("https://www.openstreetmap.org/?{marker}");
            return Some(Self { geo: format!("geo:{at}?q={at}({})", encode(&place.name)), web });
        }
        // Without the name: it is often one that only the club uses, and a map would find nothing.
        let query = encode(&place.address.as_deref()?.replace('\n', ", "));
        let web = format!("https://www.openstreetmap.org/search?query={query}");
        Some(Self { geo: format!("geo:0,0?q={query}"), web })
    }
}
