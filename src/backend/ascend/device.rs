//! One device in the hands of a measuring process: memory, streams and events that free themselves.

use super::codes;
use super::libraries::Libraries;
use super::library::text;
use super::report::CallFailure;
use super::symbols::{DEVICE_INFO, DeviceInfoFn, Functions, SET_CONSTANT, SetConstantFn};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// A call of the runtime that fails says which and why.
pub type Called<T> = Result<T, CallFailure>;

/// Huge pages where they help.
const HUGE_FIRST: c_int = 0;
/// Memory of the device.
const HBM: c_int = 1;
const DDR: c_int = 0;
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;
/// Events of this kind carry a time.
const TIME_LINE: u32 = 8;
/// Attribute of a device: its AI Cores.
const AI_CORES: c_int = 101;
/// What memory holds before a result is written to it.
const POISON: i32 = 0x5a;

/// A device that this process has opened.
pub struct Device {
    pub(super) functions: Functions,
    info: Option<DeviceInfoFn>,
    pub(super) set_constant: Option<SetConstantFn>,
    id: i32,
    timeout_ms: i32,
}

impl Device {
    /// Initialises the runtime and takes a device. Nothing that is waited for may take longer than `timeout_ms`.
    pub fn open(functions: Functions, libraries: &mut Libraries<'_>, id: u32, timeout_ms: i32) -> Called<Device> {
        // SAFETY: the types are those of the prototypes in ACL's documentation.
        let (info, set_constant) = unsafe {
            (libraries.function::<DeviceInfoFn>(&DEVICE_INFO), libraries.function::<SetConstantFn>(&SET_CONSTANT))
        };
        let device = Device { functions, info, set_constant, id: id as i32, timeout_ms };
        // SAFETY: `aclError aclInit(const char *)`; NULL means defaults.
        device.check("aclInit", unsafe { (device.functions.aclInit)(std::ptr::null()) })?;
        // SAFETY: `aclError aclrtSetDevice(int32_t)`.
        device.check("aclrtSetDevice", unsafe { (device.functions.aclrtSetDevice)(device.id) })?;
        Ok(device)
    }

    /// Gives the device back.
    pub fn close(self) -> Called<()> {
        // SAFETY: `aclError aclrtResetDevice(int32_t)`; what was made on the device is gone by now, for it
        // borrows from `self`.
        self.check("aclrtResetDevice", unsafe { (self.functions.aclrtResetDevice)(self.id) })?;
        // SAFETY: `aclError aclFinalize()`; the initialisation is ours.
        self.check("aclFinalize", unsafe { (self.functions.aclFinalize)() })
    }

    /// SoC name.
    pub fn soc_name(&self) -> Called<String> {
        // SAFETY: `const char *aclrtGetSocName()`.
        let name = text(unsafe { (self.functions.aclrtGetSocName)() });
        if name.is_empty() { Err(self.nothing("aclrtGetSocName")) } else { Ok(name) }
    }

    /// AI Cores, where the runtime tells: not every release knows the attribute.
    pub fn ai_cores(&self) -> Option<u32> {
        let info = self.info?;
        let mut cores = 0i64;
        // SAFETY: `aclError aclrtGetDeviceInfo(uint32_t, aclrtDevAttr, int64_t *)` writes one i64.
        let code = unsafe { info(self.id as u32, AI_CORES, &raw mut cores) };
        u32::try_from(cores).ok().filter(|&cores| code == codes::SUCCESS && cores > 0)
    }

    /// Bytes of memory: free, and in all.
    pub fn memory(&self) -> Called<(usize, usize)> {
        let ask = |kind| {
            let (mut free, mut total) = (0usize, 0usize);
            // SAFETY: `aclError aclrtGetMemInfo(aclrtMemAttr, size_t *, size_t *)` writes two sizes.
            let code = unsafe { (self.functions.aclrtGetMemInfo)(kind, &raw mut free, &raw mut total) };
            self.check("aclrtGetMemInfo", code).map(|()| (free, total))
        };
        match ask(HBM)? {
            // 310P has its memory as DDR.
            (_, 0) => ask(DDR),
            found => Ok(found),
        }
    }

    /// Memory on the device, poisoned.
    pub fn allocate(&self, bytes: usize) -> Called<Memory<'_>> {
        // An allocation of nothing is an error; some operands of fused calls have no elements.
        let bytes = bytes.max(1);
        let mut address = null_mut();
        // SAFETY: `aclError aclrtMalloc(void **, size_t, aclrtMemMallocPolicy)` writes one pointer.
        let code = unsafe { (self.functions.aclrtMalloc)(&raw mut address, bytes, HUGE_FIRST) };
        self.check("aclrtMalloc", code)?;
        let memory = Memory { device: self, address, bytes };
        // SAFETY: `aclError aclrtMemset(void *, size_t, int32_t, size_t)`; the memory has that many bytes.
        let code = unsafe { (self.functions.aclrtMemset)(address, bytes, POISON, bytes) };
        self.check("aclrtMemset", code)?;
        Ok(memory)
    }

    /// A stream.
    pub fn stream(&self) -> Called<Stream<'_>> {
        let mut handle = null_mut();
        // SAFETY: `aclError aclrtCreateStream(aclrtStream *)` writes one handle.
        self.check("aclrtCreateStream", unsafe { (self.functions.aclrtCreateStream)(&raw mut handle) })?;
        Ok(Stream { device: self, handle })
    }

    /// An event that carries a time.
    pub fn event(&self) -> Called<Event<'_>> {
        let mut handle = null_mut();
        // SAFETY: `aclError aclrtCreateEventWithFlag(aclrtEvent *, uint32_t)` writes one handle.
        let code = unsafe { (self.functions.aclrtCreateEventWithFlag)(&raw mut handle, TIME_LINE) };
        self.check("aclrtCreateEventWithFlag", code)?;
        Ok(Event { device: self, handle })
    }

    /// What a code returned by a function comes to.
    pub(super) fn check(&self, function: &'static str, code: c_int) -> Called<()> {
        if code == codes::SUCCESS { Ok(()) } else { Err(self.failure(function, Some(code))) }
    }

    /// The failure of a function that should have returned something.
    pub(super) fn nothing(&self, function: &'static str) -> CallFailure {
        self.failure(function, None)
    }

    fn failure(&self, function: &'static str, code: Option<i32>) -> CallFailure {
        // SAFETY: `const char *aclGetRecentErrMsg()`.
        let message = text(unsafe { (self.functions.aclGetRecentErrMsg)() });
        CallFailure { function: function.into(), code, message: message.trim().to_owned() }
    }
}

/// Memory on a device.
pub struct Memory<'a> {
    device: &'a Device,
    address: *mut c_void,
    bytes: usize,
}

impl Memory<'_> {
    /// Where it lies.
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies to its beginning.
    pub fn write(&self, content: &[u8]) -> Called<()> {
        let source = content.as_ptr().cast();
        // SAFETY: `aclError aclrtMemcpy(void *, size_t, const void *, size_t, aclrtMemcpyKind)`; the runtime
        // checks the size of the target, and the source has that many bytes.
        let code = unsafe {
            (self.device.functions.aclrtMemcpy)(self.address, self.bytes, source, content.len(), HOST_TO_DEVICE)
        };
        self.device.check("aclrtMemcpy", code)
    }

    /// Copies from it. The bytes must lie inside.
    pub fn read(&self, from: usize, bytes: usize) -> Called<Vec<u8>> {
        assert!(from.checked_add(bytes).is_some_and(|end| end <= self.bytes), "{from} + {bytes} of {}", self.bytes);
        let mut content = vec![0u8; bytes];
        // A device's address is a number for the runtime; it points to nothing of this process.
        let source = self.address.map_addr(|address| address.wrapping_add(from)).cast_const();
        // SAFETY: as above; both sides have that many bytes, as was checked.
        let code = unsafe {
            (self.device.functions.aclrtMemcpy)(content.as_mut_ptr().cast(), bytes, source, bytes, DEVICE_TO_HOST)
        };
        self.device.check("aclrtMemcpy", code).map(|()| content)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: `aclError aclrtFree(void *)`; it was allocated by `aclrtMalloc` and is freed once. What fails
        // here fails when the device is given back.
        let _ = unsafe { (self.device.functions.aclrtFree)(self.address) };
    }
}

/// An order of work on a device.
pub struct Stream<'a> {
    device: &'a Device,
    handle: *mut c_void,
}

impl Stream<'_> {
    /// What the runtime calls it.
    pub fn handle(&self) -> *mut c_void {
        self.handle
    }

    /// Notes the moment at which the device gets to an event.
    pub fn record(&self, event: &Event<'_>) -> Called<()> {
        // SAFETY: `aclError aclrtRecordEvent(aclrtEvent, aclrtStream)`; both live.
        let code = unsafe { (self.device.functions.aclrtRecordEvent)(event.handle, self.handle) };
        self.device.check("aclrtRecordEvent", code)
    }

    /// Has the device fill memory, after what it was given before.
    pub fn fill(&self, memory: &Memory<'_>) -> Called<()> {
        let Memory { address, bytes, .. } = *memory;
        // SAFETY: `aclError aclrtMemsetAsync(void *, size_t, int32_t, size_t, aclrtStream)`; the memory has that
        // many bytes, and the stream is waited for before it is freed.
        let code = unsafe { (self.device.functions.aclrtMemsetAsync)(address, bytes, 0, bytes, self.handle) };
        self.device.check("aclrtMemsetAsync", code)
    }

    /// Waits until the device has done all it was given.
    pub fn wait(&self) -> Called<()> {
        let Device { functions, timeout_ms, .. } = self.device;
        // SAFETY: `aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t)`.
        let code = unsafe { (functions.aclrtSynchronizeStreamWithTimeout)(self.handle, *timeout_ms) };
        self.device.check("aclrtSynchronizeStreamWithTimeout", code)
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: `aclError aclrtDestroyStream(aclrtStream)`; made by `aclrtCreateStream`, destroyed once.
        let _ = unsafe { (self.device.functions.aclrtDestroyStream)(self.handle) };
    }
}

/// A moment on a device.
pub struct Event<'a> {
    device: &'a Device,
    handle: *mut c_void,
}

impl Event<'_> {
    /// Microseconds from one event to a later one of the same stream; the stream was waited for.
    pub fn until(&self, later: &Event<'_>) -> Called<f64> {
        let mut milliseconds = 0f32;
        // SAFETY: `aclError aclrtEventElapsedTime(float *, aclrtEvent, aclrtEvent)` writes one float.
        let code =
            unsafe { (self.device.functions.aclrtEventElapsedTime)(&raw mut milliseconds, self.handle, later.handle) };
        self.device.check("aclrtEventElapsedTime", code).map(|()| f64::from(milliseconds) * 1e3)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: `aclError aclrtDestroyEvent(aclrtEvent)`; made by `aclrtCreateEventWithFlag`, destroyed once.
        let _ = unsafe { (self.device.functions.aclrtDestroyEvent)(self.handle) };
    }
}
