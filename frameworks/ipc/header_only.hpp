// SPDX-License-Identifier: Apache-2.0
// The framework ipc without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for
// every file. Lists every source of the folder that is no test.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::ipc instead"
#endif

#include <tenon/frameworks/dmabuf/header_only.hpp>

#include <tenon/frameworks/ipc/context.cpp>
#include <tenon/frameworks/ipc/link.cpp>
#include <tenon/frameworks/ipc/metadata.cpp>
#include <tenon/frameworks/ipc/publisher.cpp>
#include <tenon/frameworks/ipc/socket.cpp>
#include <tenon/frameworks/ipc/subscriber.cpp>
