#pragma once

// Symbols that the modules (base/module/module.h) use in addition to the public interface. They
// have the symbol version VECHE_PRIVATE: only modules of the same build may use them.
#define VECHE_MODULE_API __attribute__((visibility("default")))
