//! Streams: a thread each, operations in order; and events.

use crate::clock;
use crate::code::{INVALID_HANDLE, NOT_READY, SUCCESS};
use crate::world::{Context, Table};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};

/// What a stream does: gets the modelled time at which it may begin, gives the time at which it ends.
pub(crate) type Work = Box<dyn FnOnce(u64) -> Result<u64, i32> + Send>;

struct Operation {
    submitted: u64,
    /// Other streams, and how far they must have come.
    after: Vec<(Arc<Stream>, u64)>,
    work: Work,
    /// Done even when an error has ended the context, so that nobody waits for ever.
    always: bool,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Operation>,
    given: u64,
    finished: u64,
    /// Modelled time at which the last operation ended.
    time: u64,
    closed: bool,
}

/// One stream.
pub(crate) struct Stream {
    pub(crate) context: Arc<Context>,
    /// Orders itself with the default stream.
    blocking: bool,
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// Streams by handle.
pub(crate) static STREAMS: Table<Arc<Stream>> = Table::new(2);
/// Events by handle.
pub(crate) static EVENTS: Table<Event> = Table::new(3);

impl Stream {
    /// Starts the thread.
    pub(crate) fn start(context: &Arc<Context>, blocking: bool) -> Arc<Self> {
        let stream = Arc::new(Self {
            context: context.clone(),
            blocking,
            queue: Mutex::default(),
            changed: Condvar::new(),
        });
        let worker = stream.clone();
        std::thread::Builder::new().name("fake-stream".into()).spawn(move || worker.work()).unwrap();
        stream
    }

    /// The stream behind a handle in the context that is current; 0 is the default stream.
    pub(crate) fn of(handle: usize, current: &Arc<Context>) -> Result<Arc<Self>, i32> {
        match handle {
            // CU_STREAM_LEGACY is 1.
            0 | 1 => Ok(current.null()),
            _ => STREAMS.get(handle).map(|s| (*s).clone()).ok_or(INVALID_HANDLE),
        }
    }

    fn work(&self) {
        loop {
            let mut queue = self.queue.lock().unwrap();
            let operation = loop {
                if let Some(operation) = queue.waiting.pop_front() {
                    break operation;
                }
                if queue.closed {
                    return;
                }
                queue = self.changed.wait(queue).unwrap();
            };
            let mut start = queue.time.max(operation.submitted);
            drop(queue);
            for (other, count) in &operation.after {
                start = start.max(other.reach(*count));
            }
            let mut end = start;
            if operation.always || self.context.alive().is_ok() {
                match (operation.work)(start) {
                    Ok(t) => end = t,
                    Err(code) => self.context.end(code),
                }
            }
            let mut queue = self.queue.lock().unwrap();
            queue.time = queue.time.max(end);
            queue.finished += 1;
            self.changed.notify_all();
        }
    }

    /// Puts work behind all that was given before.
    pub(crate) fn give(&self, work: Work) {
        self.queue_up(work, false);
    }

    fn queue_up(&self, work: Work, always: bool) {
        let mut after = Vec::new();
        let null = self.context.null_if_used();
        if null.as_ref().is_some_and(|n| std::ptr::eq(&raw const **n, self)) {
            for other in self.context.streams() {
                if other.blocking && !std::ptr::eq(&raw const *other, self) {
                    let count = other.queue.lock().unwrap().given;
                    after.push((other, count));
                }
            }
        } else if let Some(null) = null.filter(|_| self.blocking) {
            let count = null.queue.lock().unwrap().given;
            after.push((null, count));
        }
        let mut queue = self.queue.lock().unwrap();
        queue.given += 1;
        queue.waiting.push_back(Operation { submitted: clock::submit(), after, work, always });
        self.changed.notify_all();
    }

    /// Waits until `count` operations are finished; the modelled time then.
    fn reach(&self, count: u64) -> u64 {
        let mut queue = self.queue.lock().unwrap();
        while queue.finished < count {
            queue = self.changed.wait(queue).unwrap();
        }
        queue.time
    }

    /// Waits for all that was given so far.
    pub(crate) fn synchronise(&self) -> i32 {
        let given = self.queue.lock().unwrap().given;
        clock::seen(self.reach(given));
        self.context.alive().err().unwrap_or(SUCCESS)
    }

    /// `NOT_READY` while anything waits or runs.
    pub(crate) fn query(&self) -> i32 {
        let queue = self.queue.lock().unwrap();
        if queue.finished < queue.given { NOT_READY } else { self.context.alive().err().unwrap_or(SUCCESS) }
    }

    /// Ends the thread once the stream is empty.
    pub(crate) fn close(&self) {
        self.queue.lock().unwrap().closed = true;
        self.changed.notify_all();
    }
}

#[derive(Default)]
struct Mark {
    /// Times that the event was recorded.
    recorded: u64,
    /// The record that was passed last.
    passed: u64,
    time: u64,
}

/// One event.
pub(crate) struct Event {
    pub(crate) context: Arc<Context>,
    /// Made without `CU_EVENT_DISABLE_TIMING`.
    pub(crate) timed: bool,
    mark: Mutex<Mark>,
    changed: Condvar,
}

impl Event {
    pub(crate) fn new(context: Arc<Context>, timed: bool) -> Self {
        Self { context, timed, mark: Mutex::default(), changed: Condvar::new() }
    }

    /// Marks the place in the stream.
    pub(crate) fn record(self: &Arc<Self>, stream: &Stream) {
        let mut mark = self.mark.lock().unwrap();
        mark.recorded += 1;
        let (number, event) = (mark.recorded, self.clone());
        drop(mark);
        let pass = move |start| {
            let mut mark = event.mark.lock().unwrap();
            mark.passed = mark.passed.max(number);
            mark.time = start;
            event.changed.notify_all();
            Ok(start)
        };
        stream.queue_up(Box::new(pass), true);
    }

    /// Holds the stream until the record made last is passed.
    pub(crate) fn hold(self: &Arc<Self>, stream: &Stream) {
        let (number, event) = (self.mark.lock().unwrap().recorded, self.clone());
        stream.give(Box::new(move |start| Ok(start.max(event.reach(number)))));
    }

    fn reach(&self, number: u64) -> u64 {
        let mut mark = self.mark.lock().unwrap();
        while mark.passed < number {
            mark = self.changed.wait(mark).unwrap();
        }
        mark.time
    }

    /// Waits for the record made last.
    pub(crate) fn synchronise(&self) -> i32 {
        let number = self.mark.lock().unwrap().recorded;
        clock::seen(self.reach(number));
        self.context.alive().err().unwrap_or(SUCCESS)
    }

    pub(crate) fn query(&self) -> i32 {
        let mark = self.mark.lock().unwrap();
        if mark.passed < mark.recorded { NOT_READY } else { self.context.alive().err().unwrap_or(SUCCESS) }
    }

    /// Modelled time of the record made last; an error when it was never recorded or is not passed.
    pub(crate) fn time(&self) -> Result<u64, i32> {
        let mark = self.mark.lock().unwrap();
        match (mark.recorded, mark.passed) {
            (0, _) => Err(INVALID_HANDLE),
            (recorded, passed) if passed < recorded => Err(NOT_READY),
            _ => Ok(mark.time),
        }
    }
}
