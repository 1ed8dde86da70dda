//! One PCI function with everything that sysfs shows of it.

/// PCI Express port type; the number stands in the capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// No PCI Express capability.
    Conventional,
    /// Endpoint.
    Endpoint,
    /// Root port.
    Root,
    /// Upstream port of a switch.
    Upstream,
    /// Downstream port of a switch.
    Downstream,
}

/// One line of `resource`.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// `IORESOURCE_*` flags.
    pub flags: u64,
}

impl Region {
    /// Memory, 64 bits, prefetchable.
    pub const PREFETCH_64: u64 = 0x14_220c;
    /// Memory, 32 bits.
    pub const MEMORY_32: u64 = 0x4_0200;
    /// I/O ports.
    pub const IO: u64 = 0x4_0101;
    /// Expansion ROM, decoded only on demand.
    pub const ROM: u64 = 0x4_6200;
    /// `IORESOURCE_UNSET`: asked for, no address.
    pub const UNSET: u64 = 0x2000_0000;

    /// Last address.
    pub fn end(self) -> u64 {
        self.start + self.size - 1
    }
}

/// Link state: generation and lanes, now and at most.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Generation now; 0 prints `Unknown`.
    pub generation: u8,
    /// Lanes now.
    pub width: u8,
    /// Highest generation.
    pub max_generation: u8,
    /// Most lanes.
    pub max_width: u8,
}

impl Link {
    /// `now` and `most`, each as generation and lanes.
    pub fn new(now: (u8, u8), most: (u8, u8)) -> Self {
        Self { generation: now.0, width: now.1, max_generation: most.0, max_width: most.1 }
    }
}

/// AER counters that are not zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aer {
    /// `BadTLP`.
    pub bad_tlp: u64,
    /// `BadDLLP`.
    pub bad_dllp: u64,
    /// `Rollover`.
    pub rollover: u64,
    /// `Timeout`.
    pub timeout: u64,
    /// `SDES` among the fatal errors.
    pub surprise_down: u64,
}

/// One function.
#[derive(Clone, Debug)]
pub struct Function {
    pub(super) bdf: String,
    pub(super) vendor: u16,
    pub(super) device: u16,
    pub(super) class: u32,
    pub(super) subsystem: (u16, u16),
    pub(super) port: Port,
    pub(super) driver: Option<String>,
    pub(super) numa: i32,
    pub(super) dma_mask: u32,
    pub(super) regions: [Option<Region>; 7],
    pub(super) window: Option<Region>,
    pub(super) resize: Vec<(usize, u64)>,
    pub(super) link: Option<Link>,
    pub(super) aer: Aer,
    pub(super) acs: Option<u16>,
    pub(super) control: &'static str,
    pub(super) status: &'static str,
    pub(super) l1: Option<bool>,
    pub(super) external: bool,
    pub(super) boot_vga: Option<bool>,
    pub(super) domain: Option<&'static str>,
    pub(super) files: Vec<(String, String)>,
    pub(super) children: Vec<Function>,
}

impl Function {
    /// Any function; conventional, no driver, awake.
    pub fn new(bdf: &str, vendor: u16, device: u16, class: u32) -> Self {
        Self {
            bdf: bdf.to_owned(),
            vendor,
            device,
            class,
            subsystem: (0x1043, 0x8882),
            port: Port::Conventional,
            driver: None,
            numa: -1,
            dma_mask: 64,
            regions: [None; 7],
            window: None,
            resize: Vec::new(),
            link: None,
            aer: Aer::default(),
            acs: None,
            control: "on",
            status: "active",
            l1: None,
            external: false,
            boot_vga: (class == 0x03_0000).then_some(false),
            domain: None,
            files: Vec::new(),
            children: Vec::new(),
        }
    }

    /// A host bridge, conventional, without driver.
    pub fn host_bridge(bdf: &str, vendor: u16, device: u16) -> Self {
        Self::new(bdf, vendor, device, 0x06_0000)
    }

    /// A bridge of the given port type under `pcieport`.
    pub fn bridge(bdf: &str, port: Port, vendor: u16, device: u16, link: Link) -> Self {
        let mut bridge = Self::new(bdf, vendor, device, 0x06_0400);
        bridge.port = port;
        bridge.link = Some(link);
        bridge.driver("pcieport")
    }

    /// A root port.
    pub fn root_port(bdf: &str, vendor: u16, device: u16, link: Link) -> Self {
        Self::bridge(bdf, Port::Root, vendor, device, link)
    }

    /// A PCI Express endpoint.
    pub fn endpoint(bdf: &str, vendor: u16, device: u16, class: u32, link: Link) -> Self {
        let mut endpoint = Self::new(bdf, vendor, device, class);
        endpoint.port = Port::Endpoint;
        endpoint.link = Some(link);
        endpoint
    }

    /// Makes it part of the root complex.
    pub fn with_port(mut self, port: Port, link: Link) -> Self {
        self.port = port;
        self.link = Some(link);
        self
    }

    /// Bound driver.
    pub fn driver(mut self, name: &str) -> Self {
        self.driver = Some(name.to_owned());
        self
    }

    /// Subsystem ids.
    pub fn subsystem(mut self, vendor: u16, device: u16) -> Self {
        self.subsystem = (vendor, device);
        self
    }

    /// `dma_mask_bits` and the coherent mask.
    pub fn dma_mask(mut self, bits: u32) -> Self {
        self.dma_mask = bits;
        self
    }

    /// A 64-bit prefetchable BAR; it takes lines `index` and `index + 1`.
    pub fn bar64(self, index: usize, start: u64, size: u64) -> Self {
        self.region(index, Region { start, size, flags: Region::PREFETCH_64 })
    }

    /// A 32-bit memory BAR.
    pub fn bar32(self, index: usize, start: u64, size: u64) -> Self {
        self.region(index, Region { start, size, flags: Region::MEMORY_32 })
    }

    /// Any line of `resource` up to 6 (the ROM).
    pub fn region(mut self, index: usize, region: Region) -> Self {
        self.regions[index] = Some(region);
        self
    }

    /// The prefetchable window of a bridge; without this it is what the functions below need.
    pub fn window(mut self, start: u64, size: u64) -> Self {
        self.window = Some(Region { start, size, flags: 0x10_2201 });
        self
    }

    /// Resizable BAR capability: bit n of `sizes` is 2^n MiB.
    pub fn resizable(mut self, bar: usize, sizes: u64) -> Self {
        self.resize.push((bar, sizes));
        self
    }

    /// Counters.
    pub fn aer(mut self, aer: Aer) -> Self {
        self.aer = aer;
        self
    }

    /// ACS capability with this control word.
    pub fn acs(mut self, control: u16) -> Self {
        self.acs = Some(control);
        self
    }

    /// `power/control` and `power/runtime_status`.
    pub fn power(mut self, control: &'static str, status: &'static str) -> Self {
        self.control = control;
        self.status = status;
        self
    }

    /// `link/l1_aspm`.
    pub fn l1_aspm(mut self, on: bool) -> Self {
        self.l1 = Some(on);
        self
    }

    /// Behind an external-facing port: `removable`.
    pub fn external(mut self) -> Self {
        self.external = true;
        self
    }

    /// The console's display.
    pub fn boot_vga(mut self) -> Self {
        self.boot_vga = Some(true);
        self
    }

    /// Its own group's type.
    pub fn domain(mut self, kind: &'static str) -> Self {
        self.domain = Some(kind);
        self
    }

    /// Another attribute file in its directory.
    pub fn attribute(mut self, name: &str, content: &str) -> Self {
        self.files.push((name.to_owned(), content.to_owned()));
        self
    }

    /// A function below this bridge.
    pub fn below(mut self, child: Function) -> Self {
        self.children.push(child);
        self
    }

    pub(super) fn on_node(mut self, node: i32) -> Self {
        self.numa = node;
        self.children = self.children.into_iter().map(|c| c.on_node(node)).collect();
        self
    }

    /// Bus number of this function.
    pub(super) fn bus(&self) -> u8 {
        u8::from_str_radix(&self.bdf[5..7], 16).unwrap()
    }

    /// Highest bus number below.
    pub(super) fn subordinate(&self) -> u8 {
        self.children.iter().map(|c| c.bus().max(c.subordinate())).max().unwrap_or(0)
    }

    /// Memory regions of all functions below, prefetchable or not.
    pub(super) fn needed(&self, prefetchable: bool) -> Vec<Region> {
        let mut all = Vec::new();
        for child in &self.children {
            let own = child.regions[..6].iter().flatten().filter(|r| {
                r.flags & 0x200 != 0
                    && r.flags & Region::UNSET == 0
                    && (r.flags & 0x2000 != 0) == prefetchable
            });
            all.extend(own.copied());
            match child.window.filter(|_| prefetchable) {
                Some(window) => all.push(window),
                None => all.extend(child.needed(prefetchable)),
            }
        }
        all
    }
}
