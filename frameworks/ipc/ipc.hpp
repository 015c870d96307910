// SPDX-License-Identifier: Apache-2.0
// All of the framework ipc: memory that processes share, links between two processes, publishers and subscribers.
#pragma once

#include <tenon/frameworks/ipc/context.hpp>     // IWYU pragma: export
#include <tenon/frameworks/ipc/link.hpp>        // IWYU pragma: export
#include <tenon/frameworks/ipc/metadata.hpp>    // IWYU pragma: export
#include <tenon/frameworks/ipc/publisher.hpp>   // IWYU pragma: export
#include <tenon/frameworks/ipc/subscriber.hpp>  // IWYU pragma: export
