//! What every arm works with: streams, events, kernels and buffers of each GPU, and pinned memory of the host.
//! Everything is allocated before peer access is enabled, always in the same order.

use super::cpus::Cpus;
use super::pattern::POISON;
use crate::gpu::cuda::{Arg, Buffer, Context, CudaError, Event, Grid, HostBuffer, Kernels, Stream};
use crate::gpu::kernels::{self, REPORT_HEAD, REPORT_SLOTS};

/// Bytes of one report.
pub(super) const REPORT_BYTES: u64 = ((REPORT_HEAD + 2 * REPORT_SLOTS) * 8) as u64;
/// Chunks of the double-buffered staging that are under way at a time.
pub(super) const RING: u64 = 4;
/// Pinned memory that staging uses.
pub(super) const STAGING: u64 = 64 << 20;

/// Places in [`Rig::small`], in bytes.
pub(super) mod small {
    /// Chain of addresses for the dependent loads.
    pub(in crate::bench) const CHAIN: u64 = 0;
    /// Bytes of the chain.
    pub(in crate::bench) const CHAIN_BYTES: u64 = 2 << 20;
    /// Two slots of the all-reduce.
    pub(in crate::bench) const MINE: u64 = 2 << 20;
    /// Result of the all-reduce.
    pub(in crate::bench) const OUT: u64 = 3 << 20;
    /// Flags of the all-reduce, one for each block.
    pub(in crate::bench) const FLAGS: u64 = (3 << 20) + (512 << 10);
    /// Bytes of the flags.
    pub(in crate::bench) const FLAGS_BYTES: u64 = 64 << 10;
    /// Ring of the resident consumer.
    pub(in crate::bench) const RESIDENT: u64 = (3 << 20) + (640 << 10);
    /// Flag of the resident consumer.
    pub(in crate::bench) const RESIDENT_FLAG: u64 = (3 << 20) + (960 << 10);
    /// Result of the dependent loads.
    pub(in crate::bench) const CHASE_OUT: u64 = (3 << 20) + (968 << 10);
    /// All of it.
    pub(in crate::bench) const BYTES: u64 = 4 << 20;
}

/// One GPU.
pub(super) struct Rig {
    pub(super) bdf: String,
    pub(super) kernels: Kernels,
    /// Main stream.
    pub(super) stream: Stream,
    /// For what runs beside it.
    pub(super) beside: Stream,
    pub(super) start: Event,
    pub(super) stop: Event,
    pub(super) mark: Event,
    pub(super) ring: Vec<Event>,
    pub(super) source: Buffer,
    pub(super) target: Buffer,
    pub(super) small: Buffer,
    pub(super) report: Buffer,
    pub(super) context: Context,
}

impl Rig {
    /// Allocates: source, target, small, report; `bulk` bytes for the first two.
    pub(super) fn new(context: &Context, bulk: u64) -> Result<Self, CudaError> {
        let rig = Self {
            bdf: context.device().bdf.clone(),
            source: Buffer::new(context, bulk)?,
            target: Buffer::new(context, bulk)?,
            small: Buffer::new(context, small::BYTES)?,
            report: Buffer::new(context, REPORT_BYTES)?,
            stream: Stream::new(context)?,
            beside: Stream::new(context)?,
            start: Event::new(context)?,
            stop: Event::new(context)?,
            mark: Event::untimed(context)?,
            ring: (0..RING).map(|_| Event::untimed(context)).collect::<Result<_, _>>()?,
            kernels: Kernels::load(context)?,
            context: context.clone(),
        };
        rig.warm()?;
        Ok(rig)
    }

    /// Launches every kernel once with nothing to do: the driver may load code at the first launch, and must not
    /// do so while another kernel waits.
    fn warm(&self) -> Result<(), CudaError> {
        for kernel in kernels::ALL.iter().filter(|kernel| !kernel.system || self.kernels.has_system()) {
            let nothing: Vec<Arg> = kernel
                .parameters
                .iter()
                .map(|bytes| if *bytes == 4 { Arg::U32(0) } else { Arg::U64(self.report.address()) })
                .collect();
            // Counts of 64 bits: no words, no vectors, no waiting.
            let args = match kernel.name {
                name if name == kernels::FILL.name || name == kernels::VERIFY.name => replaced(nothing, 1),
                name if name == kernels::POISON.name || name == kernels::GATE.name => replaced(nothing, 1),
                name if name == kernels::COPY.name => replaced(nothing, 2),
                _ => nothing,
            };
            self.kernels.launch(&self.stream, *kernel, Grid::ONE, &args)?;
        }
        self.stream.synchronize()
    }

    /// Bytes of source and target.
    pub(super) fn bulk(&self) -> u64 {
        self.source.bytes()
    }

    /// Grid of the kernels that stream over memory: at least four units in each thread, many blocks.
    pub(super) fn grid(&self, units: u64) -> Grid {
        const THREADS: u64 = 512;
        let most = u64::from(self.context.device().multiprocessors) * 32;
        let blocks = (units / (THREADS * 4)).clamp(1, most);
        Grid { blocks: u32::try_from(blocks).unwrap_or(1), threads: 512 }
    }

    /// Fills words of a buffer with a pattern.
    pub(super) fn fill(
        &self,
        address: u64,
        words: u64,
        pattern: &super::pattern::Pattern,
        base: u32,
    ) -> Result<(), CudaError> {
        self.kernels.launch(
            &self.stream,
            kernels::FILL,
            self.grid(words),
            &[
                Arg::U64(address),
                Arg::U64(words),
                Arg::U64(pattern.key),
                Arg::U64(pattern.header()),
                Arg::U32(base),
            ],
        )
    }

    /// Sets words to one value.
    pub(super) fn set(&self, address: u64, words: u64, value: u64) -> Result<(), CudaError> {
        self.kernels.launch(
            &self.stream,
            kernels::POISON,
            self.grid(words),
            &[Arg::U64(address), Arg::U64(words), Arg::U64(value)],
        )
    }

    /// Poisons words.
    pub(super) fn poison(&self, address: u64, words: u64) -> Result<(), CudaError> {
        self.set(address, words, POISON)
    }

    /// Keeps the GPU busy for a moment beside the main stream, so that it does not sleep while only its memory is used.
    pub(super) fn awake(&self, nanoseconds: u64) -> Result<(), CudaError> {
        self.kernels.launch(&self.beside, kernels::GATE, Grid::ONE, &[Arg::U64(0), Arg::U64(nanoseconds)])
    }
}

fn replaced(mut args: Vec<Arg>, place: usize) -> Vec<Arg> {
    if let Some(arg) = args.get_mut(place) {
        *arg = Arg::U64(0);
    }
    args
}

/// Pinned memory of the host.
pub(super) struct Host {
    /// Staging.
    pub(super) staging: HostBuffer,
    /// Word 0: gate; word 16: acknowledgements of the resident consumer.
    pub(super) flags: HostBuffer,
    /// Reports and samples come here.
    pub(super) inbox: HostBuffer,
    /// Where small copies are submitted.
    pub(super) cpus: Cpus,
}

/// Words of [`Host::flags`].
const GATE: u64 = 0;
pub(super) const ACK: u64 = 16;

impl Host {
    /// Bytes of [`Host::inbox`].
    pub(super) const INBOX: u64 = 4 << 20;

    pub(super) fn new(context: &Context) -> Result<Self, CudaError> {
        Ok(Self {
            staging: HostBuffer::new(context, STAGING)?,
            flags: HostBuffer::new(context, 4096)?,
            inbox: HostBuffer::new(context, Self::INBOX)?,
            cpus: Cpus::of_this_thread(),
        })
    }

    /// Holds back what is launched into the rig's main stream from here on.
    pub(super) fn close(&self, rig: &Rig) -> Result<(), CudaError> {
        const LIMIT: u64 = 500_000_000;
        self.flags.signal(GATE, 0);
        let flag = self.flags.device_address() + GATE * 8;
        rig.kernels.launch(&rig.stream, kernels::GATE, Grid::ONE, &[Arg::U64(flag), Arg::U64(LIMIT)])
    }

    /// Lets it go.
    pub(super) fn open(&self) {
        self.flags.signal(GATE, 1);
    }

    /// Address of the acknowledgement for kernels.
    pub(super) fn ack(&self) -> u64 {
        self.flags.device_address() + ACK * 8
    }
}
