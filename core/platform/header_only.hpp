// SPDX-License-Identifier: Apache-2.0
// The sources of this system for core/header_only.hpp.
#pragma once

#ifdef _WIN32
#include <tenon/core/platform/windows/files.cpp>
#include <tenon/core/platform/windows/letters.cpp>
#include <tenon/core/platform/windows/mappings.cpp>
#include <tenon/core/platform/windows/modules.cpp>
#include <tenon/core/platform/windows/process.cpp>
#include <tenon/core/platform/windows/processors.cpp>
#include <tenon/core/platform/windows/shared_memory.cpp>
#include <tenon/core/platform/windows/timer_slack.cpp>
#else
#include <tenon/core/platform/posix/files.cpp>
#include <tenon/core/platform/posix/letters.cpp>
#include <tenon/core/platform/posix/mappings.cpp>
#include <tenon/core/platform/posix/modules.cpp>
#include <tenon/core/platform/posix/process.cpp>
#include <tenon/core/platform/posix/processors.cpp>
#include <tenon/core/platform/posix/shared_memory.cpp>
#endif
