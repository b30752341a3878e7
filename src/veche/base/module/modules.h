#pragma once

#include "veche/base/module/module.h"

// All modules of Veche.
namespace veche::modules {

inline constexpr Module kTorch{"veche_torch.so", "neural networks", "libtorch-dev", 1.5e9};
inline constexpr Module kOpenMpi{.file = "veche_openmpi.so",
                                 .purpose = "runs under Open MPI",
                                 .package = "libopenmpi-dev",
                                 .may_lack = true};
inline constexpr Module kMpich{
    .file = "veche_mpich.so", .purpose = "runs under MPICH", .package = "libmpich-dev", .may_lack = true};
inline constexpr Module kSimGrid{
    .file = "veche_simgrid.so", .purpose = "simulations", .package = "libsimgrid-dev", .may_lack = true};
inline constexpr Module kGrid{"veche_grid.so", "grids", "libasio-dev and libssl-dev"};
inline constexpr Module kDht{.file = "veche_dht.so",
                             .purpose = "finding members by OpenDHT (grid.dht)",
                             .package = "libopendht-dev",
                             .may_lack = true};
inline constexpr Module kHttp{"veche_http.so", "pages and services over HTTP",
                              "libboost-dev and libasio-dev"};
inline constexpr Module kCurl{"veche_curl.so", "downloads", "libcurl4-openssl-dev"};
inline constexpr Module kArchive{"veche_archive.so", "tar archives", "libarchive-dev"};
inline constexpr Module kSentencePiece{"veche_sentencepiece.so", "vocabularies of SentencePiece",
                                       "libsentencepiece-dev"};
inline constexpr Module kCairo{"veche_cairo.so", "PNG pictures", "libcairo2-dev"};
inline constexpr Module kOnnx{"veche_onnx.so", "ONNX files", "libonnx-dev"};

inline constexpr Module kAll[]{kTorch, kOpenMpi, kMpich,   kSimGrid,       kGrid,  kDht,
                               kHttp,  kCurl,    kArchive, kSentencePiece, kCairo, kOnnx};

}  // namespace veche::modules
