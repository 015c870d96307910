// SPDX-License-Identifier: Apache-2.0
// Files that a program opened.
#pragma once

#include <functional>

#include "openvino/core/core_visibility.hpp"

namespace ov {

#ifdef _WIN32
using FileHandle = void*;
#else
using FileHandle = int;
#endif
/// Opens a file each time; what gets the handle closes it.
using FileHandleProvider = std::function<FileHandle()>;

}  // namespace ov
