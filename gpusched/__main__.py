from gpusched.cli.main import main

raise SystemExit(main())
