#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Mesa 22.3.6 (lavapipe of Debian 12's mesa-vulkan-drivers 22.3.6-1+deb12u2, libvulkan1 1.3.239.0-1) on x86-64: the header of exported memory is
# read through the file position, which duplicates of a descriptor share. So vkAllocateMemory with a duplicate of an opaque descriptor moves the
# position of the descriptor that the exporter keeps from 0, or wherever it is, to the end of the header. A C++ program whose threads import
# duplicates at once gets VK_ERROR_INVALID_EXTERNAL_HANDLE now and then; importing one after another works.
# Guess before the run: the position stays at 0, as pread() leaves it.
set -euo pipefail
version() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || true; }
if [ "$(version mesa-vulkan-drivers)" != 22.3.6-1+deb12u2 ] || [ "$(version libvulkan1)" != 1.3.239.0-1 ]; then
  echo "this needs Debian 12's mesa-vulkan-drivers 22.3.6-1+deb12u2 and libvulkan1 1.3.239.0-1, in a container for example" >&2
  exit 2
fi
VK_ICD_FILENAMES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json python3 - <<'PYTHON'
import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char_p, c_float, c_int, c_uint32, c_uint64, c_void_p, cast, pointer

vulkan = ctypes.CDLL("libvulkan.so.1")
OPAQUE_FD = 1


def struct(name, *fields):
    return type(name, (Structure,), {"_fields_": list(fields)})


HEAD = (("type", c_int), ("next", c_void_p))
InstanceInfo = struct("InstanceInfo", *HEAD, ("flags", c_uint32), ("application", c_void_p), ("layers", c_uint32), ("layer", c_void_p),
                      ("extensions", c_uint32), ("extension", c_void_p))
QueueInfo = struct("QueueInfo", *HEAD, ("flags", c_uint32), ("family", c_uint32), ("count", c_uint32), ("priorities", POINTER(c_float)))
DeviceInfo = struct("DeviceInfo", *HEAD, ("flags", c_uint32), ("queues", c_uint32), ("queue", POINTER(QueueInfo)), ("layers", c_uint32),
                    ("layer", c_void_p), ("extensions", c_uint32), ("extension", POINTER(c_char_p)), ("features", c_void_p))
Allocation = struct("Allocation", *HEAD, ("size", c_uint64), ("kind", c_uint32))
Export = struct("Export", *HEAD, ("handles", c_uint32))
Import = struct("Import", *HEAD, ("handle", c_uint32), ("fd", c_int))
GetFd = struct("GetFd", *HEAD, ("memory", c_uint64), ("handle", c_uint32))


def done(code):
    assert code == 0, f"VkResult {code}"


instance, device, count = c_void_p(), c_void_p(), c_uint32(1)
done(vulkan.vkCreateInstance(byref(InstanceInfo(type=1)), None, byref(instance)))
physical = c_void_p()
assert vulkan.vkEnumeratePhysicalDevices(instance, byref(count), byref(physical)) in (0, 5)  # 5: there are more.
extensions = (c_char_p * 1)(b"VK_KHR_external_memory_fd")
queue = QueueInfo(type=2, count=1, priorities=pointer(c_float(1)))
done(vulkan.vkCreateDevice(physical, byref(DeviceInfo(type=3, queues=1, queue=pointer(queue), extensions=1, extension=extensions)), None,
                           byref(device)))
vulkan.vkGetDeviceProcAddr.restype = c_void_p
get_fd = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)(vulkan.vkGetDeviceProcAddr(device, b"vkGetMemoryFdKHR"))


def allocated(extra):
    memory = c_uint64()
    done(vulkan.vkAllocateMemory(device, byref(Allocation(5, cast(pointer(extra), c_void_p), 4096, 0)), None, byref(memory)))
    return memory


memory, fd = allocated(Export(1000072002, None, OPAQUE_FD)), c_int(-1)
done(get_fd(device, cast(pointer(GetFd(1000074002, None, memory, OPAQUE_FD)), c_void_p), cast(pointer(fd), c_void_p)))
positions = []
for start in (0, 0, 1000):
    os.lseek(fd.value, start, os.SEEK_SET)
    again = allocated(Import(1000074000, None, OPAQUE_FD, os.dup(fd.value)))
    positions.append(os.lseek(fd.value, 0, os.SEEK_CUR))
    vulkan.vkFreeMemory(device, again, None)
print(f"the exporter's descriptor was set to 0, 0 and 1000; after an import of its duplicate it is at {positions}")
assert positions[0] > 0 and len(set(positions)) == 1, "it was one place behind the header, whatever it was before"
PYTHON
