"""What all lowering uses: values, state, conversion, conditions, operators."""
