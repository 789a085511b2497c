//! Which IP addresses webhooks may connect to: public ones, and the networks that the operator allows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// IPv4 networks that are not public, from the IANA special-purpose address registry.
const PRIVATE_V4: [Ipv4Net; 15] = [
    Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 8),
    Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(100, 64, 0, 0), 10),
    Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(172, 16, 0, 0), 12),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 0, 0, 0), 24),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 0, 2, 0), 24),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 88, 99, 0), 24),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(198, 18, 0, 0), 15),
    Ipv4Net::new_assert(Ipv4Addr::new(198, 51, 100, 0), 24),
    Ipv4Net::new_assert(Ipv4Addr::new(203, 0, 113, 0), 24),
    Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 4),
    Ipv4Net::new_assert(Ipv4Addr::new(240, 0, 0, 0), 4),
];
/// The global unicast range of IPv6.
const PUBLIC_V6: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// Networks within it that are not public.
const PRIVATE_V6: [Ipv6Net; 4] = [
    Ipv6Net::new_assert(Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    Ipv6Net::new_assert(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    Ipv6Net::new_assert(Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    Ipv6Net::new_assert(Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Decides which IP addresses may be connected to.
#[derive(Debug, Clone, Default)]
pub struct AddressPolicy {
    allowed: Vec<IpNet>,
}

impl AddressPolicy {
    /// A policy that permits these networks as well as public addresses.
    pub fn new(allowed: Vec<IpNet>) -> Self {
        Self { allowed }
    }

    /// Whether this address may be connected to.
    pub fn permits(&self, address: IpAddr) -> bool {
        self.is_allowed_network(address) || is_public(address)
    }

    /// Whether the operator allows any network at all.
    pub fn has_allowed_networks(&self) -> bool {
        !self.allowed.is_empty()
    }

    /// Whether the address is in a network that the operator allows.
    pub fn is_allowed_network(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.allowed.iter().any(|net| net.contains(&address))
    }
}

fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !PRIVATE_V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) => {
            PUBLIC_V6.contains(&address) && !PRIVATE_V6.iter().any(|net| net.contains(&address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_permitted() {
        let guard = AddressPolicy::default();
        for private in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.31.255.255",
            "192.168.0.1",
            "169.254.169.254",
            "100.127.0.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:0:7f00:1::",
            "fec0::1",
            "fd00:ec2::254",
            "fe80::1",
            "ff02::1",
            "2001:db8::1",
            "3fff::1",
            "::ffff:10.0.0.1",
            "5f00::1",
        ] {
            assert!(!guard.permits(private.parse().unwrap()), "{private}");
        }
        for public in
            ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"]
        {
            assert!(guard.permits(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn the_operator_can_allow_a_network() {
        let guard = AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]);
        assert!(guard.permits("127.0.0.1".parse().unwrap()));
        assert!(guard.permits("::ffff:127.0.0.1".parse().unwrap()));
        assert!(
            !guard.permits("::1".parse().unwrap()) && !guard.permits("10.0.0.1".parse().unwrap())
        );
    }
}
