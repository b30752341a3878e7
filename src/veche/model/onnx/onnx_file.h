#pragma once

#include <string>

#include "veche/model/operators.h"

namespace veche {

// The bytes of an ONNX file with this graph, verified by ONNX's checker including shapes. Loads the
// ONNX module. Throws RequestError if it is missing, or if the file would exceed the format's size
// limit. `version` is the version of the writing program.
std::string onnx_file(const OperatorGraph& graph, const std::string& version);

// The one symbol of the module, as extern "C".
using WriteOnnx = void(const OperatorGraph& graph, const std::string& version, std::string& bytes);
inline constexpr char kWriteOnnxSymbol[] = "veche_write_onnx";

}  // namespace veche
