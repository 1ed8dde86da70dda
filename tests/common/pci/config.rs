//! Bytes of configuration space: header, PCI Express capability, AER, ACS and Resizable BAR.

use super::function::{Function, Port};

/// Size of what a reader without `CAP_SYS_ADMIN` gets.
const HEADER: usize = 64;
const POWER: usize = 0x40;
const EXPRESS: usize = 0x60;

/// Configuration space as `config` holds it; `aer` says whether the function has the capability.
pub(super) fn bytes(function: &Function, root: bool, aer: bool) -> Vec<u8> {
    let express = function.port != Port::Conventional;
    let mut space = vec![0; if express { 4096 } else { 256 }];
    let bridge = function.class == 0x06_0400;
    put16(&mut space, 0x00, function.vendor);
    put16(&mut space, 0x02, function.device);
    put16(&mut space, 0x04, 0x0406);
    put16(&mut space, 0x06, if express { 0x0010 } else { 0 });
    space[0x08] = 1;
    space[0x09..0x0c].copy_from_slice(&function.class.to_le_bytes()[..3]);
    space[0x0e] = u8::from(bridge);
    if bridge {
        space[0x18] = function.bus();
        space[0x19] = function.children.first().map_or(0, Function::bus);
        space[0x1a] = function.subordinate();
    } else {
        put16(&mut space, 0x2c, function.subsystem.0);
        put16(&mut space, 0x2e, function.subsystem.1);
    }
    bars(&mut space, function, if bridge { 2 } else { 6 });
    if express {
        space[0x34] = 0x40;
        space[POWER] = 0x01;
        space[POWER + 1] = 0x60;
        express_capability(&mut space, function);
        extended(&mut space, function, aer);
    }
    if !root {
        space.truncate(HEADER);
    }
    space
}

fn bars(space: &mut [u8], function: &Function, count: usize) {
    for (index, region) in function.regions[..count].iter().enumerate() {
        let Some(region) = region.filter(|r| r.flags & super::Region::UNSET == 0) else { continue };
        let low = u32::try_from(region.start & 0xffff_fff0 | region.flags & 0x0f).unwrap();
        put32(space, 0x10 + 4 * index, low);
        if region.flags & 0x10_0000 != 0 {
            put32(space, 0x14 + 4 * index, u32::try_from(region.start >> 32).unwrap());
        }
    }
}

fn express_capability(space: &mut [u8], function: &Function) {
    let kind = match function.port {
        Port::Root => 4,
        Port::Upstream => 5,
        Port::Downstream => 6,
        Port::Conventional | Port::Endpoint => 0,
    };
    let slot = if matches!(function.port, Port::Root | Port::Downstream) { 0x0100 } else { 0 };
    space[EXPRESS] = 0x10;
    put16(space, EXPRESS + 0x02, 2 | kind << 4 | slot);
    if let Some(link) = function.link {
        let most = u32::from(link.max_generation) | u32::from(link.max_width) << 4 | 0x0c00;
        put32(space, EXPRESS + 0x0c, most);
        put16(space, EXPRESS + 0x10, if function.l1 == Some(true) { 2 } else { 0 });
        put16(space, EXPRESS + 0x12, u16::from(link.generation) | u16::from(link.width) << 4);
        put32(space, EXPRESS + 0x2c, ((1 << link.max_generation) - 1) << 1);
    }
}

/// Extended capabilities in a row from 0x100, each pointing at the next.
fn extended(space: &mut [u8], function: &Function, aer: bool) {
    let mut bodies: Vec<(u32, Vec<u8>)> = Vec::new();
    if aer {
        bodies.push((0x0002_0001, vec![0; 0x44]));
    }
    if let Some(control) = function.acs {
        bodies.push((0x0001_000d, [0x5f, 0, control.to_le_bytes()[0], control.to_le_bytes()[1]].to_vec()));
    }
    if !function.resize.is_empty() {
        bodies.push((0x0001_0015, resizable(function)));
    }
    let mut at = 0x100;
    let count = bodies.len();
    for (index, (id, body)) in bodies.into_iter().enumerate() {
        let after = at + 4 + body.len();
        let next = if index + 1 == count { 0 } else { u32::try_from(after).unwrap() };
        put32(space, at, id | next << 20);
        space[at + 4..after].copy_from_slice(&body);
        at = after;
    }
}

fn resizable(function: &Function) -> Vec<u8> {
    let mut body = Vec::new();
    let count = u32::try_from(function.resize.len()).unwrap();
    for (bar, sizes) in &function.resize {
        let now = function.regions[*bar].map_or(0, |r| (r.size >> 20).trailing_zeros());
        let low = u32::try_from((sizes & 0x0fff_ffff) << 4).unwrap();
        let high = u32::try_from(sizes >> 28).unwrap();
        body.extend(low.to_le_bytes());
        body.extend((u32::try_from(*bar).unwrap() | count << 5 | now << 8 | high << 16).to_le_bytes());
    }
    body
}

fn put16(space: &mut [u8], at: usize, value: u16) {
    space[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

fn put32(space: &mut [u8], at: usize, value: u32) {
    space[at..at + 4].copy_from_slice(&value.to_le_bytes());
}
