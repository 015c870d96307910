// SPDX-License-Identifier: Apache-2.0
// All of the dmabuf framework: memory, context and edges, sync files, frames.
#pragma once

#include <tenon/frameworks/dmabuf/context.hpp>       // IWYU pragma: export
#include <tenon/frameworks/dmabuf/frame.hpp>         // IWYU pragma: export
#include <tenon/frameworks/dmabuf/import_cache.hpp>  // IWYU pragma: export
#include <tenon/frameworks/dmabuf/memory.hpp>        // IWYU pragma: export
#include <tenon/frameworks/dmabuf/sync.hpp>          // IWYU pragma: export
