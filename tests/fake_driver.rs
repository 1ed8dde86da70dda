//! The fake driver behaves as the real one would: reached by the program's own function tables.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
use common::fakes::{child, in_child};
use peerfix::gpu::cuda::{Arg, Buffer, Context, Cuda, Event, Grid, HostBuffer, Kernels, Stream};
use peerfix::gpu::kernels;
use peerfix::gpu::nvml::Nvml;

const KEY: u64 = 0x1234_5678_9abc_def0;
const POISON: u64 = 0xdead_dead_dead_dead;
const BYTES: u64 = 1 << 20;
const GRID: Grid = Grid { blocks: 64, threads: 256 };

/// Two GPUs with a buffer each, kernels, streams, and access both ways.
struct Pair {
    contexts: Vec<Context>,
    kernels: Vec<Kernels>,
    streams: Vec<Stream>,
    buffers: Vec<Buffer>,
    report: HostBuffer,
}

fn header(iteration: u64) -> u64 {
    0xa6 << 56 | 7 << 44 | iteration << 32
}

impl Pair {
    fn new() -> Self {
        let cuda = Cuda::open().unwrap();
        let devices = cuda.devices().unwrap();
        let contexts: Vec<Context> = devices.iter().map(|d| Context::retain(d).unwrap()).collect();
        let kernels = contexts.iter().map(|c| Kernels::load(c).unwrap()).collect();
        let streams = contexts.iter().map(|c| Stream::new(c).unwrap()).collect();
        let buffers = contexts.iter().map(|c| Buffer::new(c, BYTES).unwrap()).collect();
        contexts[0].enable_peer(&contexts[1]).unwrap();
        contexts[1].enable_peer(&contexts[0]).unwrap();
        let report = HostBuffer::new(&contexts[0], 8 * (8 + 2 * 64)).unwrap();
        Self { contexts, kernels, streams, buffers, report }
    }

    fn fill(&self, gpu: usize, iteration: u64) {
        self.launch(
            gpu,
            kernels::FILL,
            &[
                Arg::U64(self.buffers[gpu].address()),
                Arg::U64(BYTES / 8),
                Arg::U64(KEY),
                Arg::U64(header(iteration)),
                Arg::U32(0),
            ],
        );
    }

    fn poison(&self, gpu: usize) {
        let at = self.buffers[gpu].address();
        self.launch(gpu, kernels::POISON, &[Arg::U64(at), Arg::U64(BYTES / 8), Arg::U64(POISON)]);
    }

    fn launch(&self, gpu: usize, kernel: kernels::Kernel, args: &[Arg]) {
        self.kernels[gpu].launch(&self.streams[gpu], kernel, GRID, args).unwrap();
        self.streams[gpu].synchronize().unwrap();
    }

    /// Words 0 to 7 of the report of a check of `buffer`, made on `gpu`.
    fn verify(&mut self, gpu: usize, buffer: usize, iteration: u64) -> Vec<u64> {
        self.report.put(0, &[0; 8 + 2 * 64]);
        self.launch(
            gpu,
            kernels::VERIFY,
            &[
                Arg::U64(self.buffers[buffer].address()),
                Arg::U64(BYTES / 8),
                Arg::U64(KEY),
                Arg::U64(header(iteration)),
                Arg::U32(0),
                Arg::U64(POISON),
                Arg::U64(self.report.device_address()),
                Arg::U32(64),
            ],
        );
        self.report.get(0, 8)
    }

    /// Copies the buffer of 0 to that of 1: by the copy engine or the SMs of `actor`.
    fn copy(&self, actor: usize, engine: bool) {
        if engine {
            self.streams[actor].copy_peer(&self.buffers[1], 0, &self.buffers[0], 0, BYTES).unwrap();
            self.streams[actor].synchronize().unwrap();
            return;
        }
        let at = |gpu: usize| Arg::U64(self.buffers[gpu].address());
        self.launch(actor, kernels::COPY, &[at(1), at(0), Arg::U64(BYTES / 16), Arg::U32(1)]);
    }

    /// Wrong words after each of the four ways from 0 to 1: engine read, engine write, SM read, SM write.
    fn four_ways(&mut self) -> [Vec<u64>; 4] {
        [(1, true), (0, true), (1, false), (0, false)].map(|(actor, engine)| {
            self.fill(0, 3);
            self.poison(1);
            self.copy(actor, engine);
            self.verify(1, 1, 3)
        })
    }
}

#[test]
fn a_clean_driver_moves_the_data_on_every_way() {
    in_child("a_clean_driver_moves_the_data_on_every_way", "", || {
        for report in Pair::new().four_ways() {
            assert_eq!(report, [0; 8]);
        }
    });
}

#[test]
fn time_comes_from_the_configured_rates() {
    in_child("time_comes_from_the_configured_rates", "peer-gb-s=25;nvlinks=4", || {
        let pair = Pair::new();
        let (start, end) = (Event::new(&pair.contexts[0]).unwrap(), Event::new(&pair.contexts[0]).unwrap());
        start.record(&pair.streams[0]).unwrap();
        for _ in 0..20 {
            pair.streams[0].copy_peer(&pair.buffers[1], 0, &pair.buffers[0], 0, BYTES).unwrap();
        }
        end.record(&pair.streams[0]).unwrap();
        end.synchronize().unwrap();
        let rate = 20.0 * f64::from(1 << 20) / end.seconds_since(&start).unwrap() / 1e9;
        assert!((23.0..25.0).contains(&rate), "{rate} GB/s");
    });
}

#[test]
fn dropped_sectors_leave_the_poison() {
    in_child("dropped_sectors_leave_the_poison", "fault=drop-sector:64;pair=0>1", || {
        for report in Pair::new().four_ways() {
            let wrong = BYTES / 32 / 64 * 4;
            assert_eq!(report[..3], [wrong, 0, wrong]);
        }
    });
}

#[test]
fn the_other_direction_stays_clean() {
    in_child("the_other_direction_stays_clean", "fault=drop;pair=1>0", || {
        for report in Pair::new().four_ways() {
            assert_eq!(report[0], 0);
        }
    });
}

#[test]
fn filters_pick_engine_and_operation() {
    in_child("filters_pick_engine_and_operation", "fault=zeros;engine=sm;op=read", || {
        let reports = Pair::new().four_ways();
        let words = BYTES / 8;
        assert_eq!(reports.map(|r| r[1]), [0, 0, words, 0]);
    });
}

#[test]
fn stale_data_is_that_of_the_iteration_before() {
    in_child("stale_data_is_that_of_the_iteration_before", "fault=stale", || {
        let mut pair = Pair::new();
        for iteration in 0..3 {
            pair.fill(0, iteration);
            for _ in 0..2 {
                pair.poison(1);
                pair.copy(1, true);
            }
            assert_eq!(pair.verify(1, 1, iteration.saturating_sub(1))[0], 0);
        }
    });
}

#[test]
fn shifted_data_comes_from_the_next_page() {
    in_child("shifted_data_comes_from_the_next_page", "fault=shift", || {
        let mut pair = Pair::new();
        pair.fill(0, 1);
        pair.copy(0, false);
        assert_eq!(pair.verify(1, 1, 1)[0], BYTES / 8);
        let back = HostBuffer::new(&pair.contexts[1], BYTES).unwrap();
        pair.streams[1].copy_to_host(&back, 0, &pair.buffers[1], 0, BYTES).unwrap();
        pair.streams[1].synchronize().unwrap();
        let source = HostBuffer::new(&pair.contexts[0], BYTES).unwrap();
        pair.streams[0].copy_to_host(&source, 0, &pair.buffers[0], 0, BYTES).unwrap();
        pair.streams[0].synchronize().unwrap();
        assert_eq!(back.get(0, 1000), source.get(512, 1000));
    });
}

#[test]
fn behind_a_mirror_round_trips_pass_and_nothing_arrives() {
    in_child("behind_a_mirror_round_trips_pass_and_nothing_arrives", "fault=mirror;pair=0-1", || {
        let mut pair = Pair::new();
        pair.fill(0, 5);
        pair.poison(1);
        pair.copy(0, true);
        assert_eq!(pair.verify(0, 1, 5)[0], 0, "read back through the window");
        let owner = pair.verify(1, 1, 5);
        assert_eq!(owner[2], BYTES / 8, "the owner still finds its poison");
    });
}

#[test]
fn the_resident_consumer_runs_while_the_producer_writes() {
    for config in ["", "fault=late"] {
        in_child("the_resident_consumer_runs_while_the_producer_writes", config, || {
            let pair = Pair::new();
            let flags = Buffer::new(&pair.contexts[1], 4096).unwrap();
            let ack = HostBuffer::new(&pair.contexts[0], 64).unwrap();
            let (mut made, used) = (
                HostBuffer::new(&pair.contexts[0], 64).unwrap(),
                HostBuffer::new(&pair.contexts[1], 64).unwrap(),
            );
            made.put(0, &[0; 8]);
            pair.poison(1);
            let (pages, ring, words) = (64, 4, 512);
            let zero = HostBuffer::new(&pair.contexts[1], 4096).unwrap();
            pair.streams[1].copy_to_device(&flags, 0, &zero, 0, 4096).unwrap();
            pair.streams[1].synchronize().unwrap();
            let at = [
                Arg::U64(pair.buffers[1].address()),
                Arg::U64(flags.address()),
                Arg::U64(ack.device_address()),
                Arg::U32(pages),
                Arg::U32(ring),
                Arg::U32(words),
                Arg::U64(KEY),
                Arg::U64(header(0)),
            ];
            let limit = Arg::U64(20_000_000_000);
            let mut consume = at.to_vec();
            consume.extend([Arg::U64(POISON), Arg::U64(used.device_address()), Arg::U32(0), limit]);
            let mut produce = at.to_vec();
            produce.extend([Arg::U64(made.device_address()), limit]);
            let one = Grid { blocks: 1, threads: 256 };
            pair.kernels[1].launch(&pair.streams[1], kernels::CONSUME, one, &consume).unwrap();
            pair.kernels[0].launch(&pair.streams[0], kernels::PRODUCE, one, &produce).unwrap();
            pair.streams[0].synchronize().unwrap();
            pair.streams[1].synchronize().unwrap();
            let (made, used) = (made.get(0, 8), used.get(0, 8));
            assert_eq!((made[6], made[7], used[6], used[7]), (0, 64, 0, 64));
            if config.is_empty() {
                assert_eq!(used[0], 0);
            } else {
                assert!(used[0] > 10 * 512, "{used:?}");
            }
        });
    }
}

#[test]
fn two_ranks_reduce_together() {
    in_child("two_ranks_reduce_together", "", || {
        let pair = Pair::new();
        let make =
            |bytes: u64| pair.contexts.iter().map(|c| Buffer::new(c, bytes).unwrap()).collect::<Vec<_>>();
        let (slots, flags, out) = (make(32 << 10), make(32 << 10), make(16 << 10));
        let reports: Vec<HostBuffer> =
            pair.contexts.iter().map(|c| HostBuffer::new(c, 64).unwrap()).collect();
        for rank in [0, 1] {
            let other = 1 - rank;
            let args = [
                Arg::U64(slots[rank].address()),
                Arg::U64(slots[other].address()),
                Arg::U64(flags[rank].address()),
                Arg::U64(flags[other].address()),
                Arg::U64(out[rank].address()),
                Arg::U32(1024),
                Arg::U32(200),
                Arg::U32(0),
                Arg::U32(u32::from(rank == 1)),
                Arg::U32(99),
                Arg::U64(reports[rank].device_address()),
                Arg::U64(20_000_000_000),
            ];
            pair.kernels[rank]
                .launch(&pair.streams[rank], kernels::ALLREDUCE, Grid { blocks: 8, threads: 128 }, &args)
                .unwrap();
        }
        for rank in [0, 1] {
            pair.streams[rank].synchronize().unwrap();
            assert_eq!(reports[rank].get(0, 8), [0, 0, 0, 0, 0, 0, 0, 200]);
        }
    });
}

#[test]
fn a_peer_without_access_is_an_illegal_address_and_ends_the_context() {
    in_child("a_peer_without_access_is_an_illegal_address_and_ends_the_context", "", || {
        let pair = Pair::new();
        pair.contexts[0].disable_peer(&pair.contexts[1]).unwrap();
        let at = |gpu: usize| Arg::U64(pair.buffers[gpu].address());
        pair.kernels[0]
            .launch(&pair.streams[0], kernels::COPY, GRID, &[at(1), at(0), Arg::U64(16), Arg::U32(1)])
            .unwrap();
        let error = pair.streams[0].synchronize().unwrap_err();
        assert_eq!(error.code(), Some(700));
        assert_eq!(pair.contexts[0].synchronize().unwrap_err().code(), Some(700));
        pair.contexts[1].synchronize().unwrap();
    });
}

#[test]
fn calls_return_the_codes_of_the_driver() {
    in_child("calls_return_the_codes_of_the_driver", "free=4M;fault=refuse;pair=1>0", || {
        let cuda = Cuda::open().unwrap();
        let devices = cuda.devices().unwrap();
        // GPU 0 may not access the memory of GPU 1; the other way is granted.
        assert!(!devices[0].can_access(&devices[1]).unwrap());
        assert!(devices[1].can_access(&devices[0]).unwrap());
        let contexts: Vec<Context> = devices.iter().map(|d| Context::retain(d).unwrap()).collect();
        assert!(contexts[0].enable_peer(&contexts[1]).unwrap_err().peer_refused());
        contexts[1].enable_peer(&contexts[0]).unwrap();
        assert_eq!(contexts[0].disable_peer(&contexts[1]).unwrap_err().code(), Some(705));
        let held = Buffer::new(&contexts[0], 3 << 20).unwrap();
        assert_eq!(contexts[0].memory().unwrap(), (1 << 20, 64 << 20));
        assert!(Buffer::new(&contexts[0], 2 << 20).err().unwrap().out_of_memory());
        drop(held);
        Buffer::new(&contexts[0], 2 << 20).unwrap();
    });
}

#[test]
fn an_error_code_of_the_future_comes_back_as_it_is() {
    in_child("an_error_code_of_the_future_comes_back_as_it_is", "fault=error:226;op=write", || {
        let pair = Pair::new();
        pair.streams[0].copy_peer(&pair.buffers[1], 0, &pair.buffers[0], 0, BYTES).unwrap();
        let error = pair.streams[0].synchronize().unwrap_err();
        assert_eq!(error.code(), Some(226));
        assert!(error.to_string().contains("226"), "{error}");
    });
}

#[test]
fn a_call_can_fail_by_its_name() {
    for (config, code) in [("fault=error:999;call=cuInit", 999), ("gpus=0", 100)] {
        in_child("a_call_can_fail_by_its_name", config, || {
            assert_eq!(Cuda::open().err().unwrap().code(), Some(code));
        });
    }
}

#[test]
fn a_crash_ends_the_process_and_a_hang_holds_the_stream() {
    let name = "a_crash_ends_the_process_and_a_hang_holds_the_stream";
    let body = || {
        let pair = Pair::new();
        let (send, done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            pair.copy(1, false);
            let _ = send.send(());
            std::mem::forget(pair);
        });
        assert!(done.recv_timeout(std::time::Duration::from_millis(600)).is_err(), "the copy came to an end");
        std::process::exit(0);
    };
    in_child(name, "fault=hang;engine=sm", body);
    // In a child that was made for the crash, the first transfer ends it.
    if std::env::var("PEERFIX_FAKE").is_ok_and(|c| c.contains("crash")) {
        Pair::new().copy(1, false);
    } else if std::env::var("PEERFIX_FAKE").is_err() {
        use std::os::unix::process::ExitStatusExt;
        let output = child(name, "fault=crash;engine=sm");
        assert_eq!(output.status.signal(), Some(6));
    }
}

#[test]
fn nvml_says_what_it_is_told() {
    let config = "gpus=3;nvlinks=4;nvlinks-down=1;bar1=256M;mig=on;busy=1:4242:512M;display=on;driver=570.1.2;\
                  replays=2;link=1x8;link-max=4x16;pstate=8;topology=50;p2p-read=3@0>1";
    in_child("nvml_says_what_it_is_told", config, || {
        let nvml = Nvml::open().unwrap();
        assert_eq!((nvml.count().unwrap(), nvml.driver_version().unwrap().as_str()), (3, "570.1.2"));
        let gpus: Vec<_> = (0..3).map(|i| nvml.gpu(i).unwrap()).collect();
        assert_eq!(gpus[2].bdf().unwrap(), "0000:3c:00.0");
        assert_eq!(gpus[0].bar1().unwrap(), 256 << 20);
        assert!(gpus[0].mig().unwrap() && gpus[0].display_active().unwrap());
        let links = gpus[0].nvlinks();
        assert_eq!((links.len(), links.iter().filter(|l| l.active).count()), (4, 3));
        assert_eq!(gpus[0].nvlink_mb_s().unwrap(), 26_562);
        let now = gpus[0].link_now();
        assert_eq!((now.generation, now.width, now.pstate), (Some(1), Some(8), Some(8)));
        assert_eq!(gpus[0].link_max(), (Some(4), Some(16)));
        assert_eq!(gpus[0].replays().unwrap() + 2, gpus[0].replays().unwrap());
        assert_eq!(gpus[0].processes().unwrap(), []);
        let busy = gpus[1].processes().unwrap();
        assert_eq!((busy[0].pid, busy[0].memory), (4242, Some(512 << 20)));
        // Reads by 1 bring data from 0.
        assert_eq!(gpus[1].p2p(&gpus[0], false).unwrap(), "TNS");
        assert_eq!(gpus[0].p2p(&gpus[1], false).unwrap(), "OK");
        assert_eq!(gpus[0].topology(nvml.gpu(1).unwrap()).unwrap().word(), "SYS");
    });
}

#[test]
fn cuda_and_nvml_count_from_different_ends() {
    in_child("cuda_and_nvml_count_from_different_ends", "gpus=16;order=reversed", || {
        let devices = Cuda::open().unwrap().devices().unwrap();
        let nvml = Nvml::open().unwrap();
        assert_eq!(devices.len(), 16);
        assert_eq!(devices[15].bdf, nvml.gpu(0).unwrap().bdf().unwrap());
        let mut all: Vec<_> = devices.iter().map(|d| d.bdf.clone()).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 16);
    });
}
