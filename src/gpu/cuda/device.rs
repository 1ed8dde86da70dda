//! What the driver says of one GPU.

use super::CudaError;
use super::api::Api;
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// `CUdevice_attribute` values of cuda.h.
const MULTIPROCESSOR_COUNT: c_int = 16;
const INTEGRATED: c_int = 18;
const CAPABILITY_MAJOR: c_int = 75;
const CAPABILITY_MINOR: c_int = 76;

/// Longest name and bus id that are asked for.
const TEXT: usize = 256;

/// One GPU.
#[derive(Clone)]
pub struct Device {
    pub(super) api: Arc<Api>,
    pub(super) handle: c_int,
    /// Place in the driver's order.
    pub ordinal: i32,
    /// BDF, four-digit domain, lower case.
    pub bdf: String,
    /// Name.
    pub name: String,
    /// UUID; all zero where the driver gives none.
    pub uuid: [u8; 16],
    /// Bytes of memory.
    pub memory: u64,
    /// Compute capability.
    pub capability: (i32, i32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Shares the processor's memory (Tegra): no peer of a card.
    pub integrated: bool,
}

impl Device {
    pub(super) fn get(api: &Arc<Api>, ordinal: c_int) -> Result<Self, CudaError> {
        let mut handle = 0;
        // SAFETY: stores one int.
        api.check("cuDeviceGet", unsafe { (api.device)(&raw mut handle, ordinal) })?;
        let attribute = |which: c_int| {
            let mut value = 0;
            // SAFETY: stores one int; unknown attributes are refused by the driver.
            api.check("cuDeviceGetAttribute", unsafe { (api.attribute)(&raw mut value, which, handle) })
                .map(|()| value)
        };
        let mut memory = 0;
        // SAFETY: stores one size_t.
        api.check("cuDeviceTotalMem_v2", unsafe { (api.total_memory)(&raw mut memory, handle) })?;
        let mut uuid = [0; 16];
        // SAFETY: `CUuuid` is sixteen bytes. A refusal leaves zeros, which say that there is none.
        let _ = unsafe { (api.device_uuid)(&raw mut uuid, handle) };
        // SAFETY: the length given is that of the buffer.
        let name = text(|out, length| {
            api.check("cuDeviceGetName", unsafe { (api.device_name)(out, length, handle) })
        })?;
        // SAFETY: as above.
        let bus = text(|out, length| {
            api.check("cuDeviceGetPCIBusId", unsafe { (api.bus_id)(out, length, handle) })
        })?;
        Ok(Self {
            api: Arc::clone(api),
            handle,
            ordinal,
            bdf: normal_bdf(&bus).ok_or_else(|| CudaError::Nonsense {
                call: "cuDeviceGetPCIBusId",
                what: format!("{bus:?}"),
            })?,
            name,
            uuid,
            memory: memory as u64,
            capability: (attribute(CAPABILITY_MAJOR)?, attribute(CAPABILITY_MINOR)?),
            multiprocessors: u32::try_from(attribute(MULTIPROCESSOR_COUNT)?).unwrap_or(1).max(1),
            integrated: attribute(INTEGRATED)? != 0,
        })
    }

    /// The driver says that this GPU may access the memory of `peer`.
    pub fn can_access(&self, peer: &Self) -> Result<bool, CudaError> {
        let mut can = 0;
        // SAFETY: stores one int; both handles came from `cuDeviceGet`.
        let code = unsafe { (self.api.can_access_peer)(&raw mut can, self.handle, peer.handle) };
        self.api.check("cuDeviceCanAccessPeer", code)?;
        Ok(can != 0)
    }
}

/// Calls `fill` with a zeroed buffer and takes the text up to its NUL.
fn text(fill: impl FnOnce(*mut c_char, c_int) -> Result<(), CudaError>) -> Result<String, CudaError> {
    let mut buffer = vec![0u8; TEXT];
    fill(buffer.as_mut_ptr().cast(), c_int::try_from(TEXT - 1).unwrap_or(0))?;
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(TEXT);
    Ok(String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).into_owned())
}

/// `00000000:1B:00.0` or `0000:1b:00.0` as `0000:1b:00.0`.
pub(crate) fn normal_bdf(text: &str) -> Option<String> {
    let mut parts = text.trim().split(':');
    let (domain, bus, rest) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let (slot, function) = rest.split_once('.')?;
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    Some(format!(
        "{:04x}:{:02x}:{:02x}.{:x}",
        number(domain)?,
        number(bus)?,
        number(slot)?,
        number(function)?
    ))
}

#[cfg(test)]
mod tests {
    use super::normal_bdf;

    #[test]
    fn bus_ids_of_all_tools_are_one_form() {
        assert_eq!(normal_bdf("0000:1B:00.0").as_deref(), Some("0000:1b:00.0"));
        assert_eq!(normal_bdf("00000000:1B:00.0").as_deref(), Some("0000:1b:00.0"));
        assert_eq!(normal_bdf("00010000:01:00.0").as_deref(), Some("10000:01:00.0"));
        assert_eq!(normal_bdf("1b:00.0"), None);
        assert_eq!(normal_bdf("zz:00:00.0"), None);
    }
}
