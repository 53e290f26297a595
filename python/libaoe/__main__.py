"""``python -m libaoe prefix`` says where header, libraries and CMake package are; anything else goes to ``aoe``."""

import sys

from ._prefix import prefix
from ._program import main

if sys.argv[1:] == ["prefix"]:
    print(prefix())
else:
    main()
