// SPDX-License-Identifier: Apache-2.0
// All of abi/ except the loader's tables, which only drivers fill.
#pragma once

#include <tenon/frameworks/level_zero/abi/cancel.hpp>
#include <tenon/frameworks/level_zero/abi/command_queue_npu.hpp>
#include <tenon/frameworks/level_zero/abi/context_npu.hpp>
#include <tenon/frameworks/level_zero/abi/core.hpp>
#include <tenon/frameworks/level_zero/abi/driver_npu.hpp>
#include <tenon/frameworks/level_zero/abi/event.hpp>
#include <tenon/frameworks/level_zero/abi/graph.hpp>
#include <tenon/frameworks/level_zero/abi/graph_table.hpp>
#include <tenon/frameworks/level_zero/abi/memory.hpp>
#include <tenon/frameworks/level_zero/abi/mutable_list.hpp>
#include <tenon/frameworks/level_zero/abi/profiling.hpp>
#include <tenon/frameworks/level_zero/abi/result_names.hpp>
#include <tenon/frameworks/level_zero/abi/semaphore.hpp>
#include <tenon/frameworks/level_zero/abi/system_memory.hpp>
