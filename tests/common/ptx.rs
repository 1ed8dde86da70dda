//! An interpreter of the PTX that `src/gpu/ptx` uses: so that the device code itself runs where there is no GPU.
//!
//! Threads take turns, a few instructions at a time, over all blocks of all launches; so kernels that wait for
//! each other make progress. Memory is a map of segments; everything is sequentially consistent.

use std::collections::{BTreeMap, HashMap};

/// Instructions that a thread does before the next one's turn.
const TURN: usize = 40;
/// Instructions after which a run is taken to wait for ever.
const MOST: u64 = 400_000_000;

/// Global memory: segments by address.
#[derive(Default)]
pub struct Memory(BTreeMap<u64, Vec<u8>>);

impl Memory {
    /// Adds a segment of 64-bit words.
    pub fn add(&mut self, at: u64, words: &[u64]) {
        self.0.insert(at, words.iter().flat_map(|w| w.to_le_bytes()).collect());
    }

    /// The words of a segment.
    pub fn words(&self, at: u64) -> Vec<u64> {
        self.0[&at].as_chunks::<8>().0.iter().map(|c| u64::from_le_bytes(*c)).collect()
    }

    fn place(&mut self, at: u64, bytes: usize) -> &mut [u8] {
        let (start, segment) = self.0.range_mut(..=at).next_back().expect("an address below all memory");
        let offset = usize::try_from(at - start).unwrap();
        assert_eq!(at % bytes as u64, 0, "misaligned address {at:#x}");
        segment.get_mut(offset..offset + bytes).unwrap_or_else(|| panic!("no memory at {at:#x}"))
    }

    fn load(&mut self, at: u64, bytes: usize) -> u64 {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(self.place(at, bytes));
        u64::from_le_bytes(word)
    }

    fn store(&mut self, at: u64, bytes: usize, value: u64) {
        self.place(at, bytes).copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

/// One instruction.
#[derive(Clone, Debug)]
struct Step {
    /// Register, and the value that it must have.
    guard: Option<(String, bool)>,
    operation: Vec<String>,
    operands: Vec<String>,
}

/// One entry point.
struct Entry {
    parameters: Vec<String>,
    steps: Vec<Step>,
    labels: HashMap<String, usize>,
}

/// A kernel that is to run.
pub struct Launch<'a> {
    /// Text of the module.
    pub ptx: &'a str,
    /// Entry point.
    pub name: &'a str,
    /// Blocks and threads.
    pub grid: (u32, u32),
    /// Parameters.
    pub parameters: &'a [u64],
}

fn entry(ptx: &str, name: &str) -> Entry {
    let code: String = ptx.lines().map(|l| l.split("//").next().unwrap()).collect::<Vec<_>>().join("\n");
    let at = code.find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no entry {name}"));
    let (head, rest) = code[at..].split_once(')').unwrap();
    let parameters = head.split_once('(').unwrap().1.split(',');
    let parameters = parameters.map(|p| p.split_whitespace().last().unwrap().to_owned()).collect();
    let body = rest.split_once('{').unwrap().1;
    let mut depth = 1;
    let end = body.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    let mut steps = Vec::new();
    let mut labels = HashMap::new();
    for statement in body[..end.unwrap()].split(';') {
        let mut text = statement.trim();
        while let Some((label, after)) =
            text.split_once(':').filter(|(l, _)| l.chars().all(char::is_alphanumeric))
        {
            labels.insert(label.to_owned(), steps.len());
            text = after.trim();
        }
        if !text.is_empty() && !text.starts_with('.') {
            steps.push(step(text));
        }
    }
    Entry { parameters, steps, labels }
}

fn step(text: &str) -> Step {
    let (guard, text) = match text.strip_prefix('@') {
        Some(guarded) => {
            let (register, after) = guarded.split_once(char::is_whitespace).unwrap();
            (Some((register.trim_start_matches('!').to_owned(), !register.starts_with('!'))), after.trim())
        }
        None => (None, text),
    };
    let (operation, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut operands = vec![String::new()];
    let mut depth = 0;
    for c in rest.chars().filter(|c| !c.is_whitespace()) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            operands.push(String::new());
        } else {
            operands.last_mut().unwrap().push(c);
        }
    }
    Step { guard, operation: operation.split('.').map(str::to_owned).collect(), operands }
}

struct Thread {
    launch: usize,
    block: u32,
    index: u32,
    at: usize,
    registers: HashMap<String, u64>,
    waiting: bool,
    done: bool,
}

/// What all threads share.
struct World<'a> {
    memory: &'a mut Memory,
    shared: HashMap<(usize, u32, String), u64>,
    clock: u64,
}

/// Runs kernels at the same time, to their end.
pub fn run(memory: &mut Memory, launches: &[Launch]) {
    let entries: Vec<Entry> = launches.iter().map(|l| entry(l.ptx, l.name)).collect();
    let mut threads = Vec::new();
    for (launch, l) in launches.iter().enumerate() {
        assert_eq!(l.parameters.len(), entries[launch].parameters.len());
        for (block, index) in (0..l.grid.0).flat_map(|b| (0..l.grid.1).map(move |t| (b, t))) {
            let registers = HashMap::new();
            threads.push(Thread { launch, block, index, at: 0, registers, waiting: false, done: false });
        }
    }
    let mut world = World { memory, shared: HashMap::new(), clock: 0 };
    while threads.iter().any(|t| !t.done) {
        assert!(world.clock < MOST, "waits for ever");
        for thread in &mut threads {
            let (entry, launch) = (&entries[thread.launch], &launches[thread.launch]);
            for _ in 0..TURN {
                if thread.done || thread.waiting {
                    break;
                }
                thread.one(entry, launch, &mut world);
            }
        }
        release_barriers(&mut threads);
    }
}

/// Threads go on once all of their block wait, or are done.
fn release_barriers(threads: &mut [Thread]) {
    let mut held: HashMap<(usize, u32), bool> = HashMap::new();
    for thread in threads.iter() {
        *held.entry((thread.launch, thread.block)).or_insert(true) &= thread.waiting || thread.done;
    }
    for thread in threads.iter_mut().filter(|t| held[&(t.launch, t.block)]) {
        thread.waiting = false;
    }
}

impl Thread {
    fn value(&self, operand: &str, launch: &Launch, clock: u64) -> u64 {
        match operand {
            "%tid.x" => self.index.into(),
            "%ctaid.x" => self.block.into(),
            "%ntid.x" => launch.grid.1.into(),
            "%nctaid.x" => launch.grid.0.into(),
            "%globaltimer" | "%clock64" => clock,
            _ if operand.starts_with('%') => self.registers.get(operand).copied().unwrap_or(0),
            _ => match operand.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex.trim_end_matches('U'), 16),
                None => operand.parse(),
            }
            .unwrap_or_else(|_| panic!("operand {operand}")),
        }
    }

    /// `[%a+8]` or `[name]`: the name, or an address.
    fn address(&self, operand: &str, launch: &Launch) -> Result<u64, String> {
        let inner = operand.trim_matches(['[', ']']);
        if !inner.starts_with('%') {
            return Err(inner.to_owned());
        }
        let (base, offset) = inner.split_once('+').unwrap_or((inner, "0"));
        Ok(self.value(base, launch, 0) + self.value(offset, launch, 0))
    }

    fn one(&mut self, entry: &Entry, launch: &Launch, world: &mut World) {
        world.clock += 1;
        let step = &entry.steps[self.at];
        self.at += 1;
        if step.guard.as_ref().is_some_and(|(r, wanted)| (self.registers.get(r) == Some(&1)) != *wanted) {
            return;
        }
        let parts: Vec<&str> = step.operation.iter().map(String::as_str).collect();
        match parts[0] {
            "ret" => self.done = true,
            "bar" => self.waiting = true,
            "bra" => self.at = entry.labels[&step.operands[0]],
            "fence" => {}
            "ld" | "st" | "red" | "atom" => self.memory(&parts, step, entry, launch, world),
            _ => self.compute(&parts, step, launch, world.clock),
        }
    }

    fn memory(&mut self, parts: &[&str], step: &Step, entry: &Entry, launch: &Launch, world: &mut World) {
        let bytes = if parts.last().unwrap().ends_with("64") { 8 } else { 4 };
        let value = |t: &Self, n: usize| t.value(&step.operands[n], launch, 0);
        let place = usize::from(matches!(parts[0], "ld" | "atom"));
        let address = match self.address(&step.operands[place], launch) {
            Ok(address) => address,
            Err(name) if parts.contains(&"param") => {
                let n = entry.parameters.iter().position(|p| *p == name).unwrap();
                self.registers.insert(step.operands[0].clone(), launch.parameters[n]);
                return;
            }
            Err(name) => {
                let key = (self.launch, self.block, name);
                if parts[0] == "ld" {
                    let found = world.shared.get(&key).copied().unwrap_or(0xbad);
                    self.registers.insert(step.operands[0].clone(), found);
                } else {
                    world.shared.insert(key, value(self, 1));
                }
                return;
            }
        };
        let vector = |operand: &str| {
            operand.trim_matches(['{', '}']).split(',').map(str::to_owned).collect::<Vec<_>>()
        };
        match parts[0] {
            "ld" => {
                for (register, at) in vector(&step.operands[0]).into_iter().zip((address..).step_by(bytes)) {
                    let found = world.memory.load(at, bytes);
                    self.registers.insert(register, found);
                }
            }
            "st" => {
                for (from, at) in vector(&step.operands[1]).into_iter().zip((address..).step_by(bytes)) {
                    world.memory.store(at, bytes, self.value(&from, launch, 0));
                }
            }
            _ => {
                let old = world.memory.load(address, bytes);
                let operand = value(self, place + 1);
                let new = if parts.contains(&"max") { old.max(operand) } else { old.wrapping_add(operand) };
                world.memory.store(address, bytes, new);
                if parts[0] == "atom" {
                    self.registers.insert(step.operands[0].clone(), old);
                }
            }
        }
    }

    fn compute(&mut self, parts: &[&str], step: &Step, launch: &Launch, clock: u64) {
        let narrow =
            |word: u64| if parts.last().unwrap().ends_with("64") { word } else { word & 0xffff_ffff };
        let of = |n: usize| narrow(self.value(&step.operands[n], launch, clock));
        let result = match parts[0] {
            "mov" | "cvt" | "cvta" => of(1),
            "add" => narrow(of(1).wrapping_add(of(2))),
            "sub" => narrow(of(1).wrapping_sub(of(2))),
            "mul" if parts[1] == "wide" => of(1) * of(2),
            "mul" => narrow(of(1).wrapping_mul(of(2))),
            "mad" => narrow(of(1).wrapping_mul(of(2)).wrapping_add(of(3))),
            "rem" => of(1) % of(2),
            "and" => of(1) & of(2),
            "or" => of(1) | of(2),
            "xor" => of(1) ^ of(2),
            "not" => narrow(!of(1)),
            "shl" => narrow(of(1) << of(2)),
            "shr" => of(1) >> of(2),
            "setp" => u64::from(match parts[1] {
                "eq" => of(1) == of(2),
                "ne" => of(1) != of(2),
                "ge" => of(1) >= of(2),
                "gt" => of(1) > of(2),
                "lt" => of(1) < of(2),
                "le" => of(1) <= of(2),
                other => panic!("setp.{other}"),
            }),
            other => panic!("the interpreter has no `{other}`: {step:?}"),
        };
        self.registers.insert(step.operands[0].clone(), result);
    }
}
